import multiprocessing
import time

from feedwatch.hooks.resting import LONGEST_S, LOOK_S, own_and_childrens, wait_for_rest
from tests.fakes.clock import FakeClock

MS = 1_000_000


class Machine:
    """Uses a CPU for so long, then nothing."""

    def __init__(self, busy_ms):
        self.clock, self.busy_ns = FakeClock(), busy_ms * MS
        self.began_ns = self.clock.now_ns()

    def used_ns(self):
        return min(self.clock.now_ns() - self.began_ns, self.busy_ns)

    def waited_ms(self):
        wait_for_rest(self.used_ns, lambda seconds: self.clock.advance_ms(seconds * 1e3), self.clock.now_ns)
        return (self.clock.now_ns() - self.began_ns) / MS


def test_it_waits_until_nothing_of_ours_computes():
    assert Machine(busy_ms=0).waited_ms() == LOOK_S * 1e3
    assert 100 < Machine(busy_ms=100).waited_ms() <= 100 + 2 * LOOK_S * 1e3


def test_it_does_not_wait_for_ever():
    assert Machine(busy_ms=10**6).waited_ms() <= (LONGEST_S + LOOK_S) * 1e3


def _compute(until_s):
    while time.process_time() < until_s:
        pass


def test_work_of_a_child_is_seen():
    child = multiprocessing.get_context("fork").Process(target=_compute, args=(time.process_time() + 60.0,))
    child.start()
    try:
        read = own_and_childrens()
        deadline = time.monotonic() + 20
        before_ns, own_ns = read(), time.process_time_ns()
        while read() - before_ns - (time.process_time_ns() - own_ns) < 20 * MS:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        child.kill()
        child.join()
