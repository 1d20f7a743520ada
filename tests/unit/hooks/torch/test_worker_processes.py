import os
import sys
import threading

import pytest

from feedwatch.hooks.torch.worker_processes import LEAST_BATCHES, MEMORY_EVERY_S, WorkerProcesses, cpu_ns, own_bytes
from feedwatch.hooks.torch.workers import BATCHES, CPU_NS, PID

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's figures are read from /proc")


def row(pid, batches, fetch_ns):
    cells = [0] * 16
    cells[PID], cells[BATCHES], cells[CPU_NS] = pid, batches, fetch_ns
    return cells


def spend(cpu_s):
    import time

    began = time.thread_time()
    while time.thread_time() - began < cpu_s:
        pass


def test_cpu_time_beside_the_fetch_is_counted_from_the_first_look_and_over_all_threads():
    processes, done = WorkerProcesses(), threading.Event()

    def feeder():
        spend(0.1)
        done.set()
        stop.wait()

    stop = threading.Event()
    thread = threading.Thread(target=feeder)
    processes.look([row(os.getpid(), 5, 0)])
    assert processes.extra_cpu_ms is None
    thread.start()
    done.wait()
    spend(0.1)
    processes.look([row(os.getpid(), 5 + LEAST_BATCHES, 100_000_000)])
    stop.set()
    thread.join()
    known = processes.extra_cpu_ms
    assert 4.0 <= known < 50.0  # 200 ms spent, 100 ms of them in 20 fetches
    processes.look([row(2**30, 7, 0)])  # the next epoch's worker
    assert processes.extra_cpu_ms == known


def test_few_batches_tell_nothing():
    processes = WorkerProcesses()
    processes.look([row(os.getpid(), 0, 0)])
    processes.look([row(os.getpid(), LEAST_BATCHES - 1, 0)])
    assert processes.extra_cpu_ms is None


def test_memory_is_read_now_and_then_and_stays_when_the_workers_are_gone():
    clock = [0.0]
    processes = WorkerProcesses(lambda: clock[0])
    processes.look([row(0, 0, 0)])  # a worker that has not started
    assert processes.own_mb is None
    processes.look([row(os.getpid(), 1, 0)])
    first = processes.own_mb
    assert first > 1.0
    held = bytearray(os.urandom(1)) * 50_000_000
    processes.look([row(os.getpid(), 2, 0)])
    assert processes.own_mb == first
    clock[0] += MEMORY_EVERY_S
    processes.look([row(os.getpid(), 2, 0)])
    assert processes.own_mb > first + len(held) / 2e6
    clock[0] += MEMORY_EVERY_S
    known = processes.own_mb
    processes.look([row(2**30, 2, 0)])
    assert processes.own_mb == known


def test_a_process_that_is_gone_is_unknown():
    assert (cpu_ns(2**30), own_bytes(2**30)) == (None, None)
