"""Marks of a whole fit, by hand: no framework, no clock."""

from hypothesis import given
from hypothesis import strategies as st

from feedwatch.hooks.keras.attribution import Fetch
from feedwatch.hooks.keras.timeline import EpochMark, Timeline
from feedwatch.measure.recorder import EpochGap
from feedwatch.model.step import StepKind, StepRecord

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


@given(steps=st.lists(st.tuples(*[st.integers(0, 20)] * 5), min_size=1, max_size=12), lost=st.sets(st.integers(0, 11)))
def test_the_short_way_for_usual_steps_gives_the_same_records(steps, lost):
    """Marks and fetches in any order that a clock can give them, some fetches lost: both ways agree, to the last."""
    short, long = Timeline(1, header_fetch=False), Timeline(1, header_fetch=False)
    long._plain = False
    fetches, now_ns = [], 0
    for timeline in (short, long):
        timeline.samples_per_batch = 32
        timeline.epoch_begin(0)
    for number, (idle, called, asked, waited, computed) in enumerate(steps):
        marks = [now_ns + idle]
        for gap_ns in (called, asked, waited, computed):
            marks.append(marks[-1] + gap_ns)
        begin_ns, called_ns, asked_ns, got_ns, end_ns = marks
        for timeline in (short, long):
            timeline.begin(number, begin_ns)
            timeline.called(called_ns)
            timeline.end(number, end_ns, traced=number == 0)
        if number not in lost:
            fetches.append(Fetch(asked_ns, got_ns))
        now_ns = end_ns
    for timeline in (short, long):
        timeline.pause(now_ns + 5)
    assert list(short.drain(fetches)) == list(long.drain(fetches))
    assert (short.steps, short.dropped) == (long.steps, long.dropped)
