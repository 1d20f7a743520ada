"""Rows written by a graph come back as fetches; what was asked in vain does not."""

import time

import pytest
import tensorflow as tf

from feedwatch.hooks.keras.graph_stamps import AS_THE_LAST_GOT, GraphStamps, emit_row

MS = 1_000_000


@pytest.fixture
def stamps():
    made = GraphStamps()
    yield made
    made.destroy()


@tf.function
def write(queue, asked, got, has_value):
    emit_row(queue, asked, got, has_value)


def rows(stamps, count, *, there=True):
    began = time.time()
    for number in range(count):
        at = tf.constant(began + number * 0.002, tf.float64)
        write(stamps.queue, at, at + 0.001, tf.constant(there))


def test_rows_come_back_in_order_on_the_monotonic_clock(stamps):
    before_ns = time.perf_counter_ns()
    rows(stamps, 3)
    first, second, third = stamps.drain()
    assert abs(first.asked_ns - before_ns) < 1000 * MS
    for fetch in (first, second, third):
        assert fetch.got_ns - fetch.asked_ns == pytest.approx(MS, abs=2000)
    assert third.asked_ns - first.asked_ns == pytest.approx(4 * MS, abs=2000)
    assert len(stamps.drain()) == 0


@pytest.mark.parametrize("drained_between", [False, True])
def test_a_fetch_in_a_loop_was_asked_for_when_the_one_before_was_there(stamps, drained_between):
    began, there = time.time(), tf.constant(True)
    write(stamps.queue, tf.constant(began, tf.float64), tf.constant(began + 0.001, tf.float64), there)
    found = [*stamps.drain()] if drained_between else []
    write(stamps.queue, tf.constant(AS_THE_LAST_GOT, tf.float64), tf.constant(began + 0.004, tf.float64), there)
    first, second = [*found, *stamps.drain()]
    assert second.asked_ns == pytest.approx(first.got_ns, abs=0.1 * MS)
    assert second.got_ns - second.asked_ns == pytest.approx(3 * MS, abs=0.1 * MS)


def test_the_end_of_the_data_is_no_fetch(stamps):
    rows(stamps, 2)
    rows(stamps, 1, there=False)
    assert len(stamps.drain()) == 2


@pytest.mark.parametrize("drained_between", [False, True])
def test_what_is_asked_beyond_a_known_length_was_asked_in_vain(stamps, drained_between):
    found = []
    stamps.begin(3)
    rows(stamps, 4)
    if drained_between:
        found += stamps.drain()
    stamps.begin(2)
    rows(stamps, 3)
    found += stamps.drain()
    assert len(found) == 5


def test_a_second_reader_does_not_wait_for_rows_that_nobody_writes(stamps):
    rows(stamps, 2)
    with stamps._taking:
        assert len(stamps.drain()) == 0
    assert len(stamps.drain()) == 2
