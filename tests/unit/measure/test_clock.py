"""How fine a clock is, found by reading it."""

import pytest

from feedwatch.measure.clock import COARSE_NS, SYSTEM_CLOCK, smallest_step_ns


class Readings:
    """Each reading takes 50 ns; what is read moves in steps."""

    def __init__(self, step_ns):
        self.step_ns, self.at_ns, self.count = step_ns, 7 * step_ns // 10, 0

    def __call__(self):
        self.count += 1
        self.at_ns += 50
        return self.at_ns // self.step_ns * self.step_ns


@pytest.mark.parametrize("step_ns", [1_000_000, 4_000_000])
def test_a_coarse_clock_is_found_and_its_step_is_right(step_ns):
    assert smallest_step_ns(Readings(step_ns)) == step_ns


def test_a_fine_clock_is_read_twice():
    readings = Readings(50)
    assert smallest_step_ns(readings) == 50
    assert readings.count == 2


def test_a_clock_that_stands_still_is_coarse_and_nobody_waits_for_it():
    assert smallest_step_ns(lambda: 5) == COARSE_NS


def test_the_clock_of_this_machine_is_fine():
    assert 0 < SYSTEM_CLOCK.tick_ns() < COARSE_NS
