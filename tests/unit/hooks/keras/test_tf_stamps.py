"""Rows written by a graph come back as fetches; what was asked for beyond the end of the data does not."""

import time

import pytest
import tensorflow as tf

from feedwatch.hooks.keras.tf_stamps import AS_THE_LAST_GOT, NOTHING_GOT, DataGaps, GraphStamps, emit_row, pair
from feedwatch.measure.clock import SYSTEM_CLOCK
from feedwatch.measure.marks import BEGIN, END, Marks
from feedwatch.sink import QUEUE_WINDOWS

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


def taken(stamps):
    stamps.collect()
    return list(stamps.fetches())


def rows(stamps, count, *, there=True):
    began = time.time()
    for number in range(count):
        at = began + number * 0.002
        write(stamps, at, at + 0.001 if there else NOTHING_GOT)


def test_rows_come_back_in_order_on_the_monotonic_clock(stamps):
    before_ns = time.perf_counter_ns()
    rows(stamps, 3)
    first, second, third = taken(stamps)
    assert abs(first.asked_ns - before_ns) < 1000 * MS
    for fetch in (first, second, third):
        assert fetch.got_ns - fetch.asked_ns == pytest.approx(MS, abs=2000)
    assert third.asked_ns - first.asked_ns == pytest.approx(4 * MS, abs=2000)
    assert taken(stamps) == []


@pytest.mark.parametrize("drained_between", [False, True])
def test_a_fetch_in_a_loop_was_asked_for_when_the_one_before_was_there(stamps, drained_between):
    began = time.time()
    write(stamps, began, began + 0.001)
    found = taken(stamps) if drained_between else []
    write(stamps, AS_THE_LAST_GOT, began + 0.004)
    first, second = [*found, *taken(stamps)]
    assert second.asked_ns == pytest.approx(first.got_ns, abs=0.1 * MS)
    assert second.got_ns - second.asked_ns == pytest.approx(3 * MS, abs=0.1 * MS)


def test_a_row_tells_its_samples_where_they_were_counted(stamps):
    now = time.time()
    write(stamps, now, now + 0.001, samples=24)
    write(stamps, now + 0.002, now + 0.003)
    assert [fetch.samples for fetch in taken(stamps)] == [24, None]


def test_the_end_of_the_data_is_no_fetch(stamps):
    rows(stamps, 2)
    rows(stamps, 1, there=False)
    assert len(taken(stamps)) == 2


@pytest.mark.parametrize("drained_between", [False, True])
def test_what_is_asked_for_beyond_a_known_length_is_no_fetch(stamps, drained_between):
    found = []
    stamps.begin(3)
    rows(stamps, 4)
    if drained_between:
        found += taken(stamps)
    stamps.begin(2)
    rows(stamps, 3)
    found += taken(stamps)
    assert len(found) == 5


def test_a_second_reader_does_not_wait_for_rows_that_nobody_writes(stamps):
    rows(stamps, 2)
    with stamps._taking:
        assert taken(stamps) == []
    assert len(taken(stamps)) == 2


def test_rows_that_the_sink_does_not_take_are_bounded(stamps):
    for _ in range(QUEUE_WINDOWS + 5):
        rows(stamps, 1)
        stamps.collect()
    assert len(list(stamps.fetches())) == QUEUE_WINDOWS


def test_where_we_are_switched_off_nothing_waits(stamps):
    rows(stamps, 3)
    stamps.collect()
    rows(stamps, 3)
    stamps.discard()
    assert stamps.waiting() == 0
    assert taken(stamps) == []


def test_the_cost_of_a_stamp_is_a_small_positive_figure(stamps):
    assert 0 < stamps.cost_ns(1) < 5_000_000


# -- under op determinism ---------------------------------------------------------------------------


def test_gaps_are_paired_from_the_end():
    begins = [0, 10 * MS, 20 * MS, 30 * MS]
    fetches = pair(begins, (7000, 6000, 4000), gaps=3)
    assert [(fetch.got_ns - fetch.asked_ns) / MS for fetch in fetches] == [3.0, 4.0, 6.0]
    late = pair(begins, (6000, 4000), gaps=2)
    assert [fetch.asked_ns for fetch in late] == [10 * MS, 20 * MS]
    assert pair(begins, (), gaps=3) == []


def call(marks, iterator, sleep_ms):
    """A call of the train function, as far as tf.data sees it: a fetch, and then it is left alone."""
    marks.append((time.perf_counter_ns(), BEGIN, 0))
    next(iterator)
    time.sleep(sleep_ms / 1e3)
    marks.append((time.perf_counter_ns(), END, 0))


def test_every_call_but_the_last_gets_its_fetch_from_tf_datas_own_gaps():
    marks = Marks(1_000_000_000, SYSTEM_CLOCK)
    gaps = DataGaps(marks, no_gaps=pytest.fail)
    iterator = gaps.wrap(iter(tf.data.Dataset.range(100)))
    for _ in range(5):
        call(marks, iterator, 4)
    gaps.collect()
    begins_ns = [mark[0] for mark in marks.take().marks if mark[1] == BEGIN]
    for _ in range(5):
        call(marks, iterator, 4)
    begins_ns += [mark[0] for mark in marks.rows if mark[1] == BEGIN]
    marks.append((time.perf_counter_ns(), BEGIN, 5))  # it has not fetched yet
    gaps.collect()
    fetches = list(gaps.fetches())
    assert [fetch.asked_ns for fetch in fetches] == begins_ns[:9]
    # Behind each fetch the iterator was left alone for 4 ms.
    for fetch, following_ns in zip(fetches, begins_ns[1:], strict=True):
        assert fetch.got_ns <= following_ns - 3.9 * MS


def test_where_tf_data_keeps_no_gaps_that_is_told():
    options = tf.data.Options()
    options.autotune.enabled = False
    told = []
    gaps = DataGaps(Marks(1_000_000_000, SYSTEM_CLOCK), no_gaps=lambda: told.append(True))
    iterator = gaps.wrap(iter(tf.data.Dataset.range(10).with_options(options)))
    next(iterator)
    gaps.collect()
    assert told


def test_f83_a_name_is_used_again_and_never_by_two_at_once():
    """TensorFlow keeps 40 kB for every name for ever."""
    names = set()
    for _ in range(5):
        made = GraphStamps()
        names.add(made._name)
        rows(made, 2)
        assert len(taken(made)) == 2  # and none of the queue that had the name before
        rows(made, 1)
        made.destroy()
        made.destroy()  # its name is free once
    assert len(names) == 1
    alive = [GraphStamps() for _ in range(3)]
    assert len({made._name for made in alive}) == 3
    for made in alive:
        made.destroy()
