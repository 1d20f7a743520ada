import os
import threading
import time

import pytest

from feedwatch.guard import Guard
from feedwatch.sink import Sink


def test_items_arrive_in_order_on_one_other_thread():
    seen = []
    sink = Sink(lambda item: seen.append((item, threading.current_thread().name)), Guard("test"))
    for item in range(5):
        sink.put(item)
    assert sink.close()
    assert seen == [(item, "feedwatch-sink") for item in range(5)]


def test_no_thread_before_the_first_item():
    before = threading.active_count()
    sink = Sink(print, Guard("test"))
    assert threading.active_count() == before
    assert sink.close()


def test_a_stalled_consumer_costs_the_oldest_items_and_no_waiting():
    release, seen = threading.Event(), []

    def consume(item):
        release.wait(10)
        seen.append(item)

    sink = Sink(consume, Guard("test"), capacity=4)
    began = time.perf_counter()
    for item in range(50):
        sink.put(item)
    assert time.perf_counter() - began < 1.0
    release.set()
    assert sink.close(10)
    assert sink.dropped >= 45
    assert seen[-4:] == [46, 47, 48, 49]


def test_close_keeps_its_deadline_when_the_disk_hangs():
    release = threading.Event()
    sink = Sink(lambda _: release.wait(30), Guard("test"))
    sink.put(1)
    began = time.perf_counter()
    assert not sink.close(0.2)
    assert time.perf_counter() - began < 2.0
    release.set()


def test_after_close_items_are_ignored():
    seen = []
    sink = Sink(seen.append, Guard("test"))
    sink.put(1)
    sink.close()
    sink.put(2)
    assert seen == [1]


def test_what_has_waited_is_settled_once():
    """A disk that held the thread up is asked once for all that came meanwhile."""
    release, seen = threading.Event(), []

    def settle():
        release.wait(10)
        seen.append("settled")

    sink = Sink(seen.append, Guard("test"), settle)
    sink.put(0)
    time.sleep(0.1)
    for item in range(1, 5):
        sink.put(item)
    release.set()
    assert sink.close(10)
    assert seen == [0, "settled", 1, 2, 3, 4, "settled"]


def test_a_thread_to_which_nothing_comes_settles_now_and_then():
    settled = []
    sink = Sink(lambda _: None, Guard("test"), lambda: settled.append(1), idle_seconds=0.05)
    sink.put(1)
    time.sleep(0.5)
    assert sink.close()
    assert len(settled) >= 4


@pytest.mark.lenient
def test_a_failing_consumer_does_not_end_the_thread():
    seen = []

    def consume(item):
        if item == 1:
            raise OSError("disk full")
        seen.append(item)

    sink = Sink(consume, Guard("the report writer"))
    with pytest.warns(UserWarning, match="disk full"):
        for item in range(3):
            sink.put(item)
        sink.close()
    assert seen == [0, 2]


def test_a_forked_child_writes_nothing():
    seen = []
    sink = Sink(seen.append, Guard("test"))
    sink.put("parent")
    pid = os.fork()
    if pid == 0:
        sink.put("child")
        os._exit(0 if sink.close(0.1) and "child" not in sink._queue else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert sink.close()
    assert seen == ["parent"]


def test_a_signal_handler_that_raises_in_put_does_not_make_close_fail():
    seen = []
    sink = Sink(seen.append, Guard("test"))
    sink.put(1)
    sink._thread._started.clear()  # what an exception inside Thread.start leaves behind
    assert sink.close()
    assert seen == [1]
