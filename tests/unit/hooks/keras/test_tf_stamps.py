"""Rows written by a graph come back as fetches; what was asked for beyond the end of the data does not."""

import time

import pytest
import tensorflow as tf

from feedwatch.hooks.keras.tf_stamps import AS_THE_LAST_GOT, NOTHING_GOT, GraphStamps, emit_row

MS = 1_000_000


@pytest.fixture
def stamps():
    made = GraphStamps()
    yield made
    made.destroy()


@tf.function
def emit(queue, asked, got, samples):
    emit_row(queue, asked, got, samples)


def write(stamps, asked, got, samples=0):
    emit(stamps.queue, *(tf.constant(value, tf.float64) for value in (asked, got, samples)))


def rows(stamps, count, *, there=True):
    began = time.time()
    for number in range(count):
        at = began + number * 0.002
        write(stamps, at, at + 0.001 if there else NOTHING_GOT)


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
    began = time.time()
    write(stamps, began, began + 0.001)
    found = [*stamps.drain()] if drained_between else []
    write(stamps, AS_THE_LAST_GOT, began + 0.004)
    first, second = [*found, *stamps.drain()]
    assert second.asked_ns == pytest.approx(first.got_ns, abs=0.1 * MS)
    assert second.got_ns - second.asked_ns == pytest.approx(3 * MS, abs=0.1 * MS)


def test_a_row_tells_its_samples_where_they_were_counted(stamps):
    now = time.time()
    write(stamps, now, now + 0.001, samples=24)
    write(stamps, now + 0.002, now + 0.003)
    assert [fetch.samples for fetch in stamps.drain()] == [24, None]


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
