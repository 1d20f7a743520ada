"""Rows written by a graph come back as fetches; what was asked in vain does not."""

import time

import pytest
import tensorflow as tf

from feedwatch.hooks.keras.graph_stamps import GraphStamps, emit_row

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
