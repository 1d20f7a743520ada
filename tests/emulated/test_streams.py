"""Streams work in order, beside each other, and not for the host, until it asks."""

import math
import threading
import time
from itertools import pairwise

import pytest
import torch

# What must still be running when the host looks takes 200 ms or for ever: no pause of a shared machine outlasts it.
MS = 1_000_000


def kernels(emulated):
    return {it.name: it for it in emulated.operations("kernel")}


def test_a_kernel_takes_its_time_on_the_device_and_none_of_the_host(emulated):
    torch.emulated.kernel(300, "long")
    returned_ns = time.perf_counter_ns()
    torch.accelerator.synchronize()
    (kernel,) = emulated.operations("kernel")
    assert kernel.duration_ns == 300 * MS
    assert kernel.enqueued_ns < returned_ns < kernel.end_ns
    assert time.perf_counter_ns() >= kernel.end_ns


def test_a_stream_works_in_order_without_gaps(emulated):
    for number in range(5):
        torch.emulated.kernel(4, f"{number}")
    torch.accelerator.synchronize()
    done = emulated.operations("kernel")
    assert [it.name for it in done] == ["0", "1", "2", "3", "4"]
    assert all(later.start_ns == earlier.end_ns for earlier, later in pairwise(done))


def test_many_tiny_kernels_take_no_longer_than_their_sum(emulated):
    torch.emulated.kernel(30)  # the host gets ahead
    for _ in range(500):
        torch.emulated.kernel(0.01, "tiny")
    torch.accelerator.synchronize()
    tiny = [it for it in emulated.operations("kernel") if it.name == "tiny"]
    assert sum(it.duration_ns for it in tiny) == 5 * MS
    assert all(later.start_ns >= earlier.end_ns for earlier, later in pairwise(tiny))


def test_two_streams_overlap(emulated):
    torch.emulated.kernel(200, "default")
    with torch.Stream(device="emulated"):
        torch.emulated.kernel(200, "other")
    torch.accelerator.synchronize()
    done = kernels(emulated)
    assert done["default"].stream != done["other"].stream
    assert done["other"].start_ns < done["default"].end_ns - 10 * MS


def test_wait_stream_and_event_wait_hold_a_stream_back(emulated):
    first, second, third = (torch.Stream(device="emulated") for _ in range(3))
    with first:
        torch.emulated.kernel(20, "first")
    second.wait_stream(first)
    with second:
        torch.emulated.kernel(5, "second")
        event = torch.Event(device="emulated")
        event.record(second)
    event.wait(third)
    with third:
        torch.emulated.kernel(1, "third")
    torch.accelerator.synchronize()
    done = kernels(emulated)
    assert done["second"].start_ns == done["first"].end_ns
    assert done["third"].start_ns == done["second"].end_ns
    assert len(emulated.operations("wait")) == 2


def test_each_thread_has_its_own_current_stream_and_device(emulated):
    seen = []

    def look():
        seen.append((torch.accelerator.current_stream(0).stream_id, torch.accelerator.current_device_index()))

    torch.accelerator.set_device_index(1)
    with torch.Stream(device="emulated:0") as stream:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        look()
    assert seen == [(0, 0), (stream.stream_id, 0)]
    assert torch.accelerator.current_device_index() == 1


def test_synchronising_one_stream_does_not_wait_for_another(emulated):
    quick, slow = torch.Stream(device="emulated"), torch.Stream(device="emulated")
    with slow:
        torch.emulated.kernel(math.inf, "slow")
    with quick:
        torch.emulated.kernel(100, "quick")
    assert not quick.query()
    quick.synchronize()
    assert quick.query()
    assert not slow.query()
    (wait,) = emulated.waits("stream")
    assert wait.end_ns >= kernels(emulated)["quick"].end_ns


def test_synchronising_a_device_waits_for_all_its_streams_and_no_other_device(emulated):
    with torch.Stream(device="emulated:0"):
        torch.emulated.kernel(20, "pool")
    torch.emulated.kernel(10, "default")
    torch.emulated.kernel(math.inf, "second device", device=1)
    torch.accelerator.synchronize(0)
    assert set(kernels(emulated)) == {"pool", "default"}
    assert emulated.counters().waits == {"device": 1}


def test_devices_work_beside_each_other(emulated):
    torch.emulated.kernel(200, "zero", device=0)
    with torch.emulated.device(1):
        torch.emulated.kernel(200, "one")
    for index in (0, 1):
        torch.accelerator.synchronize(index)
    done = kernels(emulated)
    assert (done["zero"].device, done["one"].device) == (0, 1)
    assert done["one"].start_ns < done["zero"].end_ns - 10 * MS


@pytest.mark.parametrize("spin", [False, True])
def test_a_waiting_host_sleeps_or_spins_as_it_is_told(emulated, spin):
    emulated.settings.spin = spin
    torch.emulated.kernel(100)
    before = time.thread_time_ns()
    torch.accelerator.synchronize()
    burnt_ns = time.thread_time_ns() - before
    # A spinning thread burns what the machine lets it have; a sleeping one next to nothing.
    assert burnt_ns > 20 * MS if spin else burnt_ns < 10 * MS


def test_other_python_threads_run_while_one_waits(emulated):
    ticks, waiting = [], threading.Event()

    def tick():
        waiting.wait()
        while not done.is_set():
            ticks.append(time.perf_counter_ns())
            time.sleep(0.002)

    done = threading.Event()
    thread = threading.Thread(target=tick)
    thread.start()
    for wait in (torch.accelerator.synchronize, torch.accelerator.current_stream().synchronize, _wait_for_event):
        torch.emulated.kernel(150)
        waiting.set()
        begin = time.perf_counter_ns()
        wait()
        assert sum(tick > begin for tick in ticks) >= 3
    done.set()
    thread.join()


def _wait_for_event():
    event = torch.Event(device="emulated")
    event.record()
    event.synchronize()


def test_a_full_launch_queue_makes_the_host_wait(emulated):
    emulated.settings.launch_queue = 8
    for _ in range(12):
        torch.emulated.kernel(5)
    assert emulated.counters().waits["launch_queue"] >= 2
    torch.accelerator.synchronize()
    assert emulated.counters().kernels == 12


def test_streams_come_from_a_pool_in_turn(emulated):
    ids = [torch.Stream(device="emulated").stream_id for _ in range(40)]
    assert len(set(ids)) == 32
    assert 0 not in ids


def test_busy_time_counts_overlapping_work_once(emulated):
    begin = time.perf_counter_ns()
    torch.emulated.kernel(30)
    with torch.Stream(device="emulated"):
        torch.emulated.kernel(30)
    torch.accelerator.synchronize()
    first, second = emulated.operations("kernel")
    union = max(first.end_ns, second.end_ns) - min(first.start_ns, second.start_ns)
    assert emulated.busy_ns(begin, time.perf_counter_ns()) == union
