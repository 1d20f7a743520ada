"""Marks of a whole fit, by hand: no framework, no clock."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedwatch.hooks.keras.attribution import Fetch
from feedwatch.hooks.keras.entries import EpochMark
from feedwatch.hooks.keras.fetch_columns import FetchColumns
from feedwatch.hooks.keras.timeline import Timeline
from feedwatch.model.steps import EpochGap, StepKind, StepRecord

MS = 1_000_000


def records(items):
    return [item for item in items if isinstance(item, StepRecord)]


def tensorflow_epoch(timeline, start_ms, steps, fetch_ms=4, step_ms=10, per_call=1):
    """begin, fetch inside, end; returns the fetches."""
    fetches, at = [], start_ms
    for index in range(steps):
        timeline.begin(index * per_call, at * MS)
        fetches.append(Fetch(at * MS + 1, (at + fetch_ms) * MS, 8))
        timeline.end((index + 1) * per_call - 1, (at + step_ms - 1) * MS)
        at += step_ms
    return fetches, at


def test_steps_on_the_training_thread_get_their_own_fetch():
    timeline = Timeline(1, header_fetch=False)
    timeline.epoch_begin(0)
    fetches, at = tensorflow_epoch(timeline, 0, 5)
    timeline.epoch_end(at * MS)
    items = list(timeline.drain(fetches))
    assert items[0] == EpochMark(0, 0)
    assert [record.step for record in records(items)] == [1, 2, 3, 4, 5]
    assert {record.input_wait_ns for record in records(items)} == {4 * MS - 1}
    assert timeline.dropped == 0


def test_a_step_waits_for_the_next_begin_before_its_wall_time_is_known():
    timeline = Timeline(1, header_fetch=False)
    fetches, _ = tensorflow_epoch(timeline, 0, 3)
    assert len(records(timeline.drain(fetches))) == 2


@pytest.mark.parametrize("told_by", [0, 3], ids=["its first batch", "its last batch"])
def test_a_call_of_four_batches_is_done_whichever_of_them_tells_it(told_by):
    timeline = Timeline(4, ends_here=False, completions=True, header_fetch=False)
    timeline.epoch_begin(0)
    fetches = []
    for call in range(3):
        timeline.begin(4 * call, call * 10 * MS)
        fetches += [Fetch((call * 10 + place) * MS, (call * 10 + place + 1) * MS, 8) for place in range(4)]
        timeline.done(4 * call + told_by, (call * 10 + 9) * MS)
    timeline.epoch_end(30 * MS)
    assert [record.batches for record in records(timeline.drain(fetches))] == [4, 4, 4]


def test_steps_that_were_dispatched_before_a_failure_are_counted_and_not_measured():
    timeline = Timeline(1, ends_here=False, completions=True, header_fetch=False)
    timeline.epoch_begin(0)
    for step in range(3):
        timeline.begin(step, step * 10 * MS)
    timeline.done(0, 9 * MS)
    fetches = [Fetch(step * 10 * MS, (step * 10 + 1) * MS, 8) for step in range(2)]
    timeline.abandon()  # in the fetch of the third
    timeline.epoch_end(30 * MS)
    found = records(timeline.drain(fetches))
    assert [(record.batches, record.samples) for record in found] == [(1, 8), (1, 8)]
    assert [record.input_wait_ns is None for record in found] == [False, True]
    assert timeline.steps == 2


def test_a_begin_without_an_end_is_the_end_of_the_data():
    timeline = Timeline(1, header_fetch=False)
    fetches, at = tensorflow_epoch(timeline, 0, 3)
    timeline.begin(3, at * MS)
    timeline.epoch_end((at + 1) * MS)
    assert len(records(timeline.drain(fetches))) == 3


def test_the_gap_between_epochs_is_reported_less_validation():
    timeline = Timeline(1, header_fetch=False)
    timeline.epoch_begin(0)
    first, at = tensorflow_epoch(timeline, 0, 2)
    timeline.test_begin(at * MS)
    timeline.test_end((at + 50) * MS)
    timeline.epoch_end((at + 50) * MS)
    timeline.epoch_begin(1)
    timeline.loader_started(3 * MS)
    second, at = tensorflow_epoch(timeline, at + 60, 2)
    timeline.epoch_end(at * MS)
    items = list(timeline.drain(first + second))
    (gap,) = [item for item in items if isinstance(item, EpochGap)]
    assert gap == EpochGap(2, 11 * MS, 3 * MS, 50 * MS)
    assert [type(item).__name__ for item in items] == [
        "EpochMark", "StepRecord", "StepRecord", "EpochMark", "EpochGap", "StepRecord", "StepRecord",
    ]  # fmt: skip


def test_a_lost_fetch_makes_its_step_untrusted_and_shifts_no_other():
    timeline = Timeline(1, header_fetch=False)
    fetches, at = tensorflow_epoch(timeline, 0, 4)
    timeline.epoch_end(at * MS)
    del fetches[1]
    found = records(timeline.drain(fetches))
    assert [record.kind for record in found] == [StepKind.STEADY, StepKind.WARMUP, StepKind.STEADY, StepKind.STEADY]
    assert found[1].input_wait_ns is None
    assert timeline.dropped == 1


def test_a_call_of_four_batches_counts_four():
    timeline = Timeline(4, header_fetch=False)
    fetches = []
    for call in range(2):
        timeline.begin(4 * call, call * 100 * MS)
        fetches += [Fetch((call * 100 + 10 * i) * MS + 1, (call * 100 + 10 * i + 10) * MS, 8) for i in range(4)]
        timeline.end(4 * call + 3, (call * 100 + 90) * MS)
    timeline.epoch_end(200 * MS)
    found = records(timeline.drain(fetches))
    assert [(record.step, record.batches, record.samples) for record in found] == [(4, 4, 32), (8, 4, 32)]


def test_fetches_in_the_loop_header_belong_to_the_call_after_them():
    timeline = Timeline(1, ends_here=False, header_fetch=True)
    fetches = []
    for index in range(3):
        at = index * 30
        timeline.asked(at * MS)
        fetches.append(Fetch(at * MS, (at + 20) * MS, 8))
        timeline.begin(index, (at + 20) * MS)
    timeline.asked(90 * MS)  # the attempt that finds no more data
    timeline.epoch_end(95 * MS)
    found = records(timeline.drain(fetches))
    assert [record.input_wait_ns for record in found] == [20 * MS] * 3
    assert [record.compute_ns for record in found] == [10 * MS] * 3
    assert [record.wall_ns for record in found] == [30 * MS] * 3


def test_completions_may_come_late_and_from_another_thread():
    timeline = Timeline(1, ends_here=False, completions=True)
    timeline.epoch_begin(0)
    fetches = []
    for index in range(3):
        timeline.begin(index, index * 10 * MS)
        fetches.append(Fetch(index * 10 * MS + 1, index * 10 * MS + 9 * MS, 8))
    assert records(timeline.drain(fetches)) == []
    for index in range(3):
        timeline.done(index, (50 + 40 * index) * MS)
    timeline.epoch_end(200 * MS)
    found = records(timeline.drain([]))
    assert [record.starved_ns for record in found] == [9 * MS - 1, 0, 0]
    assert [record.wall_ns for record in found][1:] == [40 * MS, 40 * MS]


def test_a_call_that_never_completed_is_dropped_when_the_epoch_is_over():
    timeline = Timeline(1, ends_here=False, completions=True)
    timeline.epoch_begin(0)
    timeline.begin(0, 0)
    timeline.done(0, 5 * MS)
    timeline.begin(1, 6 * MS)
    timeline.epoch_end(10 * MS)
    assert len(records(timeline.drain([Fetch(1, 2, 8)]))) == 1


def test_the_same_callback_given_twice_counts_each_step_once():
    timeline = Timeline(1, ends_here=False, header_fetch=True)
    timeline.begin(0, 1)
    timeline.begin(0, 2)
    timeline.epoch_end(10 * MS)
    assert len(records(timeline.drain([]))) == 1


def test_pending_marks_are_bounded():
    timeline = Timeline(1, header_fetch=False)
    for index in range(20_000):
        timeline.begin(index, index * MS)
        timeline.end(index, index * MS + 10)
    assert timeline.pending <= 8192
    assert timeline.dropped == 20_000 - 1 - 8192


def test_the_call_that_failed_is_not_counted():
    timeline = Timeline(1, ends_here=False, header_fetch=True)
    timeline.begin(0, 10 * MS)
    timeline.begin(1, 30 * MS)
    timeline.abandon()
    timeline.epoch_end(40 * MS)
    assert len(records(timeline.drain([Fetch(0, 10 * MS, 8), Fetch(20 * MS, 30 * MS, 8)]))) == 1


def columns(fetches):
    asked, got, samples = ([fetch[at] or 0 for fetch in fetches] for at in (0, 1, 2))
    return FetchColumns(np.array(asked, np.int64), np.array(got, np.int64), np.array(samples, np.int64))


def untidy_epoch(timelines, steps, per_call, lost, traced, sizes, start_ns):
    """Marks and fetches in any order that a clock can give them, some fetches lost."""
    fetches, now_ns = [], start_ns
    for timeline in timelines:
        timeline.epoch_begin(0)
    for number, (idle, called, ahead, waits, computed) in enumerate(steps):
        begin_ns = now_ns + idle
        called_ns = begin_ns + called
        at_ns = called_ns + ahead
        for place, wait_ns in enumerate(waits[:per_call]):
            if (number, place) not in lost:
                fetches.append(Fetch(at_ns, at_ns + wait_ns, sizes[place]))
            at_ns += wait_ns
        end_ns = max(at_ns + computed, called_ns)
        for timeline in timelines:
            timeline.begin(number * per_call, begin_ns)
            timeline.called(called_ns)
            timeline.end((number + 1) * per_call - 1, end_ns, traced=number in traced)
        now_ns = end_ns
    for timeline in timelines:
        timeline.epoch_end(now_ns + 5)
    return fetches, now_ns + 10


UNTIDY = st.lists(
    st.tuples(
        st.integers(0, 20),
        st.integers(0, 20),
        st.integers(-2, 20),
        st.lists(st.integers(0, 20), min_size=4, max_size=4),
        st.integers(-1, 40),
    ),
    min_size=1,
    max_size=24,
)


@given(
    epochs=st.lists(UNTIDY, min_size=1, max_size=2),
    per_call=st.sampled_from([1, 2, 4]),
    lost=st.sets(st.tuples(st.integers(0, 23), st.integers(0, 3)), max_size=3),
    traced=st.sets(st.integers(0, 23), max_size=2),
    sizes=st.lists(st.sampled_from([None, 7, 32]), min_size=4, max_size=4),
    usual_size=st.sampled_from([None, 32]),
)
def test_many_calls_at_once_give_the_same_records_as_one_by_one(epochs, per_call, lost, traced, sizes, usual_size):
    at_once, one_by_one = Timeline(per_call, header_fetch=False), Timeline(per_call, header_fetch=False)
    for timeline in (at_once, one_by_one):
        timeline.samples_per_batch = usual_size
    now_ns, found, expected = 0, [], []
    for steps in epochs:
        fetches, now_ns = untidy_epoch((at_once, one_by_one), steps, per_call, lost, traced, sizes, now_ns)
        fetches.sort(key=lambda fetch: fetch[:2])
        found += at_once.drain(columns(fetches))
        expected += one_by_one.drain(fetches)
    assert found == expected
    assert (at_once.steps, at_once.dropped, at_once.tracing_ns) == (
        one_by_one.steps, one_by_one.dropped, one_by_one.tracing_ns,
    )  # fmt: skip


def test_a_tidy_run_is_paired_without_a_loop_over_its_fetches(monkeypatch):
    timeline = Timeline(1, header_fetch=False)
    fetches, at = tensorflow_epoch(timeline, 0, 50)
    timeline.epoch_end(at * MS)
    monkeypatch.setattr(timeline, "_record", None)
    assert [record.input_wait_ns for record in timeline.drain(columns(fetches))] == [4 * MS - 1] * 50


def test_fetches_of_a_call_that_never_ended_do_not_shift_the_next_ones():
    timeline = Timeline(1, header_fetch=False)
    first, at = tensorflow_epoch(timeline, 0, 6)
    left = Fetch(at * MS - 5, at * MS - 4)
    timeline.epoch_end(at * MS)
    assert len(records(timeline.drain(columns([*first, left])))) == 6
    second, at = tensorflow_epoch(timeline, at, 6)
    timeline.epoch_end(at * MS)
    assert [record.input_wait_ns for record in records(timeline.drain(columns(second)))] == [4 * MS - 1] * 6
    assert timeline.dropped == 0


def test_a_run_in_which_no_call_is_usual_is_not_tried_again_at_each():
    timeline = Timeline(2, header_fetch=False)
    fetches, at = tensorflow_epoch(timeline, 0, 500, per_call=2)  # one fetch each instead of two
    timeline.epoch_end(at * MS)
    began = time.perf_counter()
    assert len(records(timeline.drain(columns(fetches)))) == 500
    assert time.perf_counter() - began < 1.0
