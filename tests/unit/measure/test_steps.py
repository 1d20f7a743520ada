"""The engine, mark by mark: no framework, no thread, no clock of its own."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedwatch.measure.marks import (
    ABANDON,
    BEGIN,
    COMPUTE,
    DEVICE,
    DONE,
    END,
    ENTER,
    EPOCH,
    EPOCH_END,
    FIRST_NAMED,
    GOT,
    H2D,
    INPUT,
    LEAVE,
    LOADER_START,
    OTHER,
    PROFILED,
    TRACED,
    TRAINED,
    VALIDATION,
    WAS,
    DeviceSpans,
    Fetch,
)
from feedwatch.measure.steps import MAX_PENDING, Ends, StepReader
from feedwatch.model.steps import EpochGap, EpochMark, StepKind, StepRecord
from tests.fakes.marks import MS, Marker

FIRST_ENGINE = Path(__file__).parents[2] / "data" / "first_engine_records.json.gz"


def device_spans(first_ns, wait_ns, copy_ns=0, compute_ns=0, other_ns=0):
    marks = [(None, category, first_ns) for category in (INPUT, H2D, COMPUTE, OTHER)]
    return DeviceSpans(first_ns, marks, [wait_ns, copy_ns, compute_ns, other_ns], first_ns)


def records(items):
    return [item for item in items if isinstance(item, StepRecord)]


def gaps(items):
    return [item for item in items if isinstance(item, EpochGap)]


# -- steps that a loop marks from outside: Lightning ------------------------------------------------


def test_a_step_reaches_from_its_fetch_to_the_next_one_and_its_phases_add_up():
    marks, reader = Marker(), StepReader()
    marks.epoch(0, 0)
    marks.lightning_step()
    marks.lightning_step()
    marks.epoch_end()
    items = list(reader.read(marks.take()))
    found = records(items)
    assert items[0] == EpochMark(0, 0)
    assert [record.wall_ns for record in found] == [11 * MS, 11 * MS]
    first = found[0]
    assert (first.input_wait_ns, first.h2d_ns, first.compute_ns, first.other_ns) == (2 * MS, MS, 5 * MS, 3 * MS)
    assert [record.step for record in found] == [1, 2]
    assert first.samples == 4


def test_a_resumed_run_goes_on_counting_where_it_was():
    marks, reader = Marker(), StepReader()
    marks.epoch(3, 300)
    marks.lightning_step()
    marks.epoch_end()
    assert [record.step for record in records(reader.read(marks.take()))] == [301]


def test_a_fetch_inside_the_step_is_input_and_not_compute():
    marks, reader = Marker(), StepReader()
    for _ in range(2):
        marks.mark(ENTER, COMPUTE)
        for _ in range(2):
            marks.mark(ENTER, INPUT)
            marks.advance(3)
            marks.mark(GOT, None)
        marks.advance(4)
        marks.mark(LEAVE, COMPUTE)
        marks.mark(TRAINED, 4)
    marks.epoch_end()
    first = records(reader.read(marks.take()))[0]
    assert (first.input_wait_ns, first.compute_ns, first.batches, first.samples) == (6 * MS, 4 * MS, 2, 8)


def test_a_phase_that_nobody_marks_is_unknown_and_not_zero():
    marks, reader = Marker(), StepReader()
    marks.lightning_step(copy=None)
    marks.epoch_end()
    assert records(reader.read(marks.take()))[0].h2d_ns is None


def test_validation_is_no_part_of_the_step_and_nothing_inside_it_counts():
    marks, reader = Marker(), StepReader()
    marks.lightning_step()
    marks.mark(ENTER, VALIDATION)
    marks.spend(INPUT, 100)
    marks.mark(LEAVE, VALIDATION)
    marks.lightning_step()
    marks.epoch_end()
    assert [record.wall_ns for record in records(reader.read(marks.take()))] == [11 * MS, 11 * MS]
    assert reader.validation_ns == 100 * MS


def test_a_step_that_was_not_trained_is_partial():
    marks, reader = Marker(), StepReader()
    marks.lightning_step()
    marks.spend(INPUT, 1)
    marks.epoch_end()
    assert len(records(reader.read(marks.take()))) == 1
    assert reader.partial == 1


def test_the_gap_between_epochs_holds_the_loaders_start_and_no_start_up():
    marks, reader = Marker(), StepReader()
    marks.advance(500)  # start-up is no gap
    marks.lightning_step()
    marks.epoch_end()
    marks.advance(10)
    marks.spend(LOADER_START, 30)
    marks.spend(VALIDATION, 50)
    marks.lightning_step()
    marks.epoch_end()
    assert gaps(reader.read(marks.take())) == [EpochGap(1, 40 * MS, 30 * MS, 50 * MS)]


def test_the_users_callbacks_are_known_by_number_total_and_dearest_step():
    marks, reader = Marker(), StepReader()
    for ms in (6, 6, 90):
        marks.lightning_step()
        marks.spend(FIRST_NAMED + 2, ms)
    marks.epoch_end()
    found = records(reader.read(marks.take()))
    assert reader.totals_ns[FIRST_NAMED + 2] == 102 * MS
    assert reader.largest_ns[FIRST_NAMED + 2] == 90 * MS
    assert found[2].other_ns == 93 * MS  # a callback's time is still what nobody else claimed
    assert reader.habits()[2] == (6.0, 1.0)


def test_work_that_is_done_now_and_then_is_told_from_work_at_every_step():
    marks, reader = Marker(), StepReader()
    for step in range(101):
        marks.lightning_step()
        marks.spend(FIRST_NAMED, 2)
        marks.spend(FIRST_NAMED + 1, 50 if step % 10 == 0 else 0)
    marks.epoch_end()
    list(reader.read(marks.take()))
    often, rarely = reader.habits()
    assert (often.ms_per_step, often.every) == (2.0, 1.0)
    assert (rarely.ms_per_step, rarely.every) == (5.0, 10.0)


def test_marks_that_never_end_are_ended_by_what_surrounds_them_and_counted():
    marks, reader = Marker(), StepReader()
    marks.mark(ENTER, INPUT)
    marks.advance(2)
    marks.mark(GOT, 4)
    marks.mark(ENTER, COMPUTE)
    marks.mark(ENTER, H2D)  # never left
    marks.advance(5)
    marks.mark(LEAVE, COMPUTE)
    marks.mark(LEAVE, H2D)  # never entered
    marks.mark(TRAINED, 4)
    marks.epoch_end()
    (record,) = records(reader.read(marks.take()))
    assert (record.wall_ns, record.input_wait_ns, record.h2d_ns) == (7 * MS, 2 * MS, 5 * MS)
    assert reader.dropped == 2


def test_a_clock_that_goes_back_or_jumps_an_hour_costs_its_span_and_is_counted():
    marks, reader = Marker(), StepReader()
    marks.lightning_step()
    marks.spend(INPUT, 1)
    marks.spend(COMPUTE, -50)
    marks.mark(TRAINED, 4)
    marks.advance(2 * 3_600_000)
    marks.lightning_step()
    marks.epoch_end()
    found = records(reader.read(marks.take()))
    assert [record.wall_ns for record in found] == [11 * MS, MS, 11 * MS]
    assert reader.dropped == 2


def test_endless_nesting_is_bounded():
    reader = StepReader()
    list(reader.read([(ns, ENTER, COMPUTE) for ns in range(1000)]))
    assert reader.dropped == 1000 - 64


# -- calls of a train function that fetches in its graph: Keras on TensorFlow ------------------------


def tensorflow(calls, per_call=1, **more):
    """`calls` equal calls of 10 ms with a fetch of 4 ms in each."""
    marks, rows = Marker(), []
    marks.epoch(0)
    for call in range(calls):
        begin_ns = marks.clock.now_ns()
        rows.append(Fetch(begin_ns + 1, begin_ns + 4 * MS, 8))
        marks.keras_call(call * per_call, (call + 1) * per_call - 1)
    return marks, rows, StepReader(per_call, stamped=True, **more)


def test_calls_get_the_fetch_that_the_graph_stamped_inside_them():
    marks, rows, reader = tensorflow(5)
    marks.epoch_end()
    found = records(reader.read(marks.take(), rows))
    assert [record.step for record in found] == [1, 2, 3, 4, 5]
    assert {record.input_wait_ns for record in found} == {4 * MS - 1}
    assert {record.compute_ns for record in found} == {5 * MS + 1}
    assert [record.wall_ns for record in found] == [10 * MS] * 4 + [9 * MS]
    assert reader.dropped == 0


def test_a_call_is_known_when_the_next_one_begins():
    marks, rows, reader = tensorflow(3)
    assert len(records(reader.read(marks.take(), rows))) == 2


def test_a_begin_without_an_end_is_the_end_of_the_data():
    marks, rows, reader = tensorflow(3)
    marks.mark(BEGIN, 3)
    marks.advance(1)
    marks.epoch_end()
    assert len(records(reader.read(marks.take(), rows))) == 3


def test_data_of_unknown_length_keeps_the_gaps_between_its_epochs():
    """The first engine lost every one of them."""
    marks, rows, reader = Marker(), [], StepReader(stamped=True)
    for epoch in range(3):
        marks.epoch(epoch)
        for batch in range(5):
            begin_ns = marks.clock.now_ns()
            rows.append(Fetch(begin_ns, begin_ns + 4 * MS, 8))
            marks.keras_call(batch)
        marks.mark(BEGIN, 5)  # nothing is there
        marks.advance(1)
        marks.epoch_end()
        marks.advance(500)
    items = list(reader.read(marks.take(), rows))
    assert [gap.wall_ns for gap in gaps(items)] == [501 * MS, 501 * MS]
    assert len(records(items)) == 15


def test_the_last_step_of_an_epoch_ends_with_its_end_mark_and_the_rest_is_the_gap():
    marks, rows, reader = tensorflow(2)
    marks.spend(VALIDATION, 50)
    marks.advance(7)  # somebody's epoch-end hook in front of ours
    marks.epoch_end()
    marks.epoch(1)
    marks.spend(LOADER_START, 3)
    rows.append(Fetch(marks.clock.now_ns(), marks.clock.now_ns() + MS, 8))
    marks.keras_call(0)
    marks.epoch_end()
    items = list(reader.read(marks.take(), rows))
    assert [record.wall_ns for record in records(items)] == [10 * MS, 9 * MS, 9 * MS]
    assert gaps(items) == [EpochGap(2, 11 * MS, 3 * MS, 50 * MS)]
    assert [type(item).__name__ for item in items] == [
        "EpochMark", "StepRecord", "StepRecord", "EpochMark", "EpochGap", "StepRecord",
    ]  # fmt: skip


def test_a_lost_fetch_makes_its_step_untrusted_and_shifts_no_other():
    marks, rows, reader = tensorflow(4)
    marks.epoch_end()
    del rows[1]
    found = records(reader.read(marks.take(), rows))
    assert [record.kind for record in found] == [StepKind.STEADY, StepKind.WARMUP, StepKind.STEADY, StepKind.STEADY]
    assert found[1].input_wait_ns is None
    assert reader.dropped == 1


def test_where_nobody_can_see_fetches_steps_stay_steady_and_their_parts_unknown():
    marks, _, reader = tensorflow(3)
    marks.epoch_end()
    reader.measured = False
    found = records(reader.read(marks.take()))  # they wait for nothing
    assert [(record.kind, record.input_wait_ns) for record in found] == [(StepKind.STEADY, None)] * 3
    assert reader.dropped == 0


def test_a_call_whose_fetch_is_known_only_after_the_next_one_waits_for_it():
    marks, rows, reader = tensorflow(3)
    marks.epoch_end()
    log = marks.take()
    assert len(records(reader.read(log, rows[:2]))) == 2
    assert len(records(reader.read([], rows[2:]))) == 1


def test_a_call_of_four_batches_counts_four():
    marks, rows, reader = Marker(), [], StepReader(4, stamped=True)
    for call in range(2):
        begin_ns = marks.clock.now_ns()
        rows += [Fetch(begin_ns + 10 * at * MS, begin_ns + 10 * (at + 1) * MS, 8) for at in range(4)]
        marks.keras_call(4 * call, 4 * call + 3, inside=90, after=10)
    marks.epoch_end()
    found = records(reader.read(marks.take(), rows))
    assert [(record.step, record.batches, record.samples) for record in found] == [(4, 4, 32), (8, 4, 32)]


def test_fetches_of_a_call_that_never_ended_do_not_shift_the_next_ones():
    marks, rows, reader = tensorflow(3)
    marks.mark(BEGIN, 3)
    rows.append(Fetch(marks.clock.now_ns() + 1, marks.clock.now_ns() + 2))
    marks.advance(1)
    marks.epoch_end()
    marks.epoch(1)
    for batch in range(3):
        rows.append(Fetch(marks.clock.now_ns() + 1, marks.clock.now_ns() + 4 * MS, 8))
        marks.keras_call(batch)
    marks.epoch_end()
    found = records(reader.read(marks.take(), rows))
    assert [record.input_wait_ns for record in found] == [4 * MS - 1] * 6


def test_what_other_callbacks_do_before_the_call_is_not_compute_and_has_their_name():
    marks, reader = Marker(), StepReader(stamped=True)
    marks.mark(BEGIN, 0)
    marks.advance(20)
    marks.mark(WAS, FIRST_NAMED)
    marks.advance(1)
    marks.mark(WAS, OTHER)
    rows = [Fetch(marks.clock.now_ns(), marks.clock.now_ns() + 2 * MS)]
    marks.advance(9)
    marks.mark(END, 0)
    marks.advance(5)
    marks.mark(WAS, FIRST_NAMED)
    marks.mark(BEGIN, 1)
    (record,) = records(reader.read(marks.take(), rows))
    assert (record.wall_ns, record.input_wait_ns, record.compute_ns) == (35 * MS, 2 * MS, 7 * MS)
    assert reader.totals_ns[FIRST_NAMED] == 25 * MS


def test_a_step_that_a_profiler_window_touches_is_of_its_own_kind():
    marks = Marker()
    marks.epoch()
    for number in range(4):
        marks.lightning_step()
        if number in (1, 2):
            marks.mark(PROFILED)
    marks.epoch_end()
    items = list(StepReader().read(marks.take()))
    kinds = [item.kind for item in items if isinstance(item, StepRecord)]
    assert kinds == [StepKind.STEADY, StepKind.PROFILED, StepKind.PROFILED, StepKind.STEADY]


def test_a_traced_call_is_warm_up_and_its_tracing_is_timed():
    marks, reader = Marker(), StepReader(stamped=True)
    marks.mark(BEGIN, 0)
    marks.mark(TRACED)
    rows = [Fetch(marks.clock.now_ns() + 300 * MS, marks.clock.now_ns() + 301 * MS)]
    marks.advance(310)
    marks.mark(END, 0)
    begin_ns = marks.clock.now_ns()
    rows.append(Fetch(begin_ns, begin_ns + MS))
    marks.keras_call(1)
    marks.epoch_end()
    found = records(reader.read(marks.take(), rows))
    assert [record.kind for record in found] == [StepKind.WARMUP, StepKind.STEADY]
    assert reader.tracing_ns == 300 * MS
    assert reader.retraces == 0  # the first trace is none too many


def test_fetches_that_python_timed_inside_a_call_need_no_rows():
    marks, reader = Marker(), StepReader(stamped=True)
    for batch in range(2):
        marks.mark(BEGIN, batch)
        marks.mark(ENTER, INPUT)
        marks.advance(3)
        marks.mark(GOT, 8)
        marks.advance(6)
        marks.mark(END, batch)
    marks.epoch_end()
    found = records(reader.read(marks.take()))
    assert [(record.input_wait_ns, record.compute_ns, record.samples) for record in found] == [(3 * MS, 6 * MS, 8)] * 2


@pytest.mark.parametrize("ends", [Ends.MARKED, Ends.NEXT])
def test_the_same_callback_given_twice_counts_each_step_once(ends):
    marks, reader = Marker(), StepReader(ends=ends)
    for batch in range(2):
        marks.mark(ENTER, INPUT)
        marks.advance(1)
        marks.mark(GOT, 8)
        for what in (BEGIN, BEGIN, END, END):
            marks.mark(what, batch)
            marks.advance(1)
    marks.epoch_end()
    assert len(records(reader.read(marks.take()))) == 2


def test_a_call_that_failed_is_not_counted():
    marks, rows, reader = tensorflow(2)
    marks.mark(BEGIN, 2)
    marks.mark(ABANDON)
    marks.epoch_end()
    assert len(records([*reader.read(marks.take(), rows), *reader.finish()])) == 2


# -- a loop that fetches in its header: Keras on torch, own loops ------------------------------------


def test_fetches_in_the_loops_header_belong_to_the_call_after_them():
    marks, reader = Marker(), StepReader(ends=Ends.NEXT)
    for batch in range(3):
        marks.loop_step(wait=20, compute=10, batch=batch)
    marks.mark(ENTER, INPUT)  # finds no more data
    marks.advance(5)
    marks.epoch_end()
    found = records(reader.read(marks.take()))
    assert [(record.input_wait_ns, record.compute_ns, record.wall_ns) for record in found] == [
        (20 * MS, 10 * MS, 30 * MS)
    ] * 3
    assert [record.step for record in found] == [1, 2, 3]


def test_the_search_for_more_data_belongs_to_the_gap():
    marks, reader = Marker(), StepReader(ends=Ends.NEXT)
    for _ in range(2):
        marks.epoch(0)
        marks.loop_step()
        marks.mark(ENTER, INPUT)
        marks.advance(5)
        marks.epoch_end()
        marks.advance(10)
    assert [gap.wall_ns for gap in gaps(reader.read(marks.take()))] == [15 * MS]


def test_the_last_step_of_a_loop_that_asks_for_no_more_is_counted():
    marks, reader = Marker(), StepReader(ends=Ends.NEXT)
    marks.loop_step(batch=0)
    marks.loop_step(batch=1)
    marks.epoch_end()
    assert [record.wall_ns for record in records(reader.read(marks.take()))] == [7 * MS, 7 * MS]


@pytest.mark.parametrize("aside", [LOADER_START, VALIDATION])
def test_a_step_ends_where_the_loop_is_seen_somewhere_else(aside):
    """Keras on torch makes the next epoch's iterator behind the last step, before the epoch ends."""
    marks, reader = Marker(), StepReader(ends=Ends.NEXT)
    marks.loop_step(batch=0)
    marks.loop_step(batch=1)
    marks.spend(aside, 30)
    marks.advance(4)
    marks.epoch_end()
    marks.advance(10)
    marks.loop_step(batch=0)
    items = list(reader.read(marks.take()))
    assert [(record.wall_ns, record.compute_ns) for record in records(items)] == [(7 * MS, 5 * MS)] * 2
    (gap,) = gaps(items)
    assert gap.wall_ns == (44 if aside == LOADER_START else 14) * MS


def test_the_step_that_failed_in_a_loop_is_not_counted():
    marks, reader = Marker(), StepReader(ends=Ends.NEXT)
    marks.loop_step(batch=0)
    marks.loop_step(batch=1)
    marks.mark(ABANDON)
    marks.epoch_end()
    assert len(records(reader.read(marks.take()))) == 1


# -- asynchronous dispatch: Keras on JAX -------------------------------------------------------------


def test_results_may_come_late_and_the_device_is_starved_only_when_it_is_free():
    reader, marks, at = StepReader(ends=Ends.DONE), [(0, EPOCH, (0, None))], 10**9
    for batch in range(3):
        begin_ns = at + 10 * batch * MS
        marks += [(begin_ns, BEGIN, batch), (begin_ns + 1, ENTER, INPUT), (begin_ns + 9 * MS, GOT, 8)]
    assert records(reader.read(marks)) == []
    late = [(at + (50 + 40 * batch) * MS, DONE, batch) for batch in range(3)]
    found = records(reader.read([*late, (at + 200 * MS, EPOCH_END, None)]))
    assert [record.starved_ns for record in found] == [9 * MS - 1, 0, 0]
    assert [record.wall_ns for record in found][1:] == [40 * MS, 40 * MS]
    assert {record.host_wait_ns for record in found} == {9 * MS - 1}


@pytest.mark.parametrize("told_by", [0, 3], ids=["its first batch", "its last batch"])
def test_a_call_of_four_batches_is_done_whichever_of_them_tells_it(told_by):
    reader, marks = StepReader(4, ends=Ends.DONE), [(0, EPOCH, (0, None))]
    for call in range(3):
        begin_ns = 10**9 + 10 * call * MS
        marks.append((begin_ns, BEGIN, 4 * call))
        for place in range(4):
            marks += [(begin_ns + place * MS, ENTER, INPUT), (begin_ns + (place + 1) * MS, GOT, 8)]
        marks.append((begin_ns + 9 * MS, DONE, 4 * call + told_by))
    marks.append((10**9 + 30 * MS, EPOCH_END, None))
    assert [record.batches for record in records(reader.read(marks))] == [4, 4, 4]


def test_steps_that_were_dispatched_before_a_failure_are_counted_and_not_measured():
    reader, marks, at = StepReader(ends=Ends.DONE), [(0, EPOCH, (0, None))], 10**9
    for batch in range(2):
        begin_ns = at + 10 * batch * MS
        marks += [(begin_ns, BEGIN, batch), (begin_ns, ENTER, INPUT), (begin_ns + MS, GOT, 8)]
    marks += [(at + 9 * MS, DONE, 0), (at + 20 * MS, BEGIN, 2), (at + 20 * MS, ENTER, INPUT)]
    marks += [(at + 30 * MS, ABANDON, None), (at + 30 * MS, EPOCH_END, None)]
    found = records(reader.read(marks))
    assert [(record.batches, record.samples) for record in found] == [(1, 8), (1, 8)]
    assert [record.input_wait_ns is None for record in found] == [False, True]
    assert reader.steps == 2


def test_a_call_that_never_completed_is_dropped_when_the_epoch_is_over():
    reader, at = StepReader(ends=Ends.DONE), 10**9
    marks = [
        (0, EPOCH, (0, None)),
        (at, BEGIN, 0), (at + 1, ENTER, INPUT), (at + 2, GOT, 8), (at + 5 * MS, DONE, 0),
        (at + 6 * MS, BEGIN, 1), (at + 10 * MS, EPOCH_END, None),
    ]  # fmt: skip
    assert len(records(reader.read(marks))) == 1


def test_the_gap_begins_when_the_device_is_done_with_the_epoch():
    reader, at = StepReader(ends=Ends.DONE), 10**9
    marks = []
    for epoch in range(2):
        begin_ns = at + 100 * epoch * MS
        marks += [
            (begin_ns, EPOCH, (epoch, None)),
            (begin_ns, ENTER, INPUT), (begin_ns + MS, GOT, 8), (begin_ns + MS, BEGIN, 0),
            (begin_ns + 40 * MS, DONE, 0), (begin_ns + 5 * MS, EPOCH_END, None),
        ]  # fmt: skip
    assert [gap.wall_ns for gap in gaps(reader.read(marks))] == [60 * MS]


# -- a device with a clock of its own ----------------------------------------------------------------


def device_marks(count):
    marks, times = Marker(), []
    for _ in range(count):
        first_ns = marks.clock.now_ns()
        marks.lightning_step()
        times.append(device_spans(first_ns, MS, 2 * MS, 9 * MS, 8 * MS))
    marks.epoch_end()
    return marks.take(), times


def test_the_times_of_a_step_are_the_devices_and_its_order_is_the_hosts():
    log, times = device_marks(3)
    reader = StepReader(device=True)
    assert records(reader.read(log)) == []
    found = records(reader.read([(0, DEVICE, each) for each in times]))
    assert [record.step for record in found] == [1, 2, 3]
    first = found[0]
    assert (first.wall_ns, first.h2d_ns, first.compute_ns) == (20 * MS, 2 * MS, 9 * MS)
    assert (first.input_wait_ns, first.starved_ns, first.host_wait_ns) == (MS, MS, 2 * MS)


def test_a_step_that_the_device_gave_up_is_dropped_and_shifts_no_other():
    log, times = device_marks(3)
    reader = StepReader(device=True)
    found = records(reader.read([*log, *((0, DEVICE, each) for each in (times[0], times[2]))]))
    assert len(found) == 2
    assert reader.dropped == 1


def test_what_the_device_has_not_passed_at_the_end_is_dropped_and_counted():
    log, times = device_marks(3)
    reader = StepReader(device=True)
    assert len(records([*reader.read([*log, (0, DEVICE, times[0])]), *reader.finish()])) == 1
    assert reader.dropped == 2


# -- bounds and lost marks ---------------------------------------------------------------------------


def test_steps_that_wait_are_bounded():
    reader = StepReader(ends=Ends.DONE)
    marks = [(0, EPOCH, (0, None)), *((batch, BEGIN, batch) for batch in range(2 * MAX_PENDING))]
    list(reader.read(marks))
    assert len(reader._pending) == MAX_PENDING
    assert reader.dropped == MAX_PENDING


def test_marks_that_were_lost_on_the_way_cost_the_open_step_and_nothing_else():
    marks, reader = Marker(), StepReader()
    marks.lightning_step()
    marks.spend(INPUT, 2)
    found = records(reader.read(marks.take()))
    reader.lost()
    marks.advance(100)
    marks.mark(LEAVE, COMPUTE)
    marks.mark(TRAINED, 4)
    marks.lightning_step()
    marks.lightning_step()
    marks.epoch_end()
    items = list(reader.read(marks.take()))
    assert [record.wall_ns for record in [*found, *records(items)]] == [11 * MS] * 3
    assert gaps(items) == []


# -- against the engine before this one --------------------------------------------------------------


def first_engine():
    with gzip.open(FIRST_ENGINE) as file:
        return json.load(file)


def as_marks(log):
    marks = []
    for entry in log:
        if entry[0] == "epoch":
            marks.append((marks[-1][0] if marks else 0, EPOCH, (entry[1], None)))
        elif entry[0] == "call":
            _, first, begin_ns, last, end_ns = entry
            marks += [(begin_ns, BEGIN, first), (end_ns, END, last)]
        else:
            marks.append((entry[1], EPOCH_END, None))
    return marks


def read_again(fit):
    reader = StepReader(fit["per_call"], stamped=True)
    rows = [Fetch(*row) for row in fit["rows"]]
    items = [*reader.read(as_marks(fit["log"]), rows), *reader.finish()]
    return [
        ["gap", item.step, item.wall_ns]
        if isinstance(item, EpochGap)
        else [item.step, item.wall_ns, item.input_wait_ns, item.compute_ns, item.batches, item.samples, item.kind.value]
        for item in items
        if not isinstance(item, EpochMark)
    ]


def test_tidy_marks_give_the_records_that_the_first_engine_made():
    fits = [fit for fit in first_engine() if not fit["untidy"]]
    assert len(fits) == 120
    assert all(read_again(fit) == fit["items"] for fit in fits)


def test_where_untidy_marks_give_other_records_the_first_engine_counted_time_twice():
    """Fetches stamped before the begin of their call or after its end. The first engine let them stick out: the walls
    of its steps overlapped, wait and compute together were longer than the call, or the wait went on after its end.
    """
    different = 0
    for fit in first_engine():
        if not fit["untidy"]:
            continue
        calls = [(entry[2], entry[4]) for entry in fit["log"] if entry[0] == "call"]
        ours = [item for item in read_again(fit) if item[0] != "gap"]
        theirs = [item for item in fit["items"] if item[0] != "gap"]
        assert len(ours) == len(theirs) == len(calls)
        for (begin_ns, end_ns), now, before in zip(calls, ours, theirs, strict=True):
            _, wall, wait, compute, *_ = now
            if wait is not None:
                assert wait + compute == end_ns - begin_ns
                assert wait + compute <= max(1, wall)
            if now != before:
                different += 1
                too_long = before[2] + before[3] > end_ns - begin_ns
                beyond_the_end = any(asked < end_ns < got for asked, got, _ in fit["rows"])
                assert too_long or before[1] > wall or beyond_the_end, (now, before)
    assert different > 100  # the comparison has something to compare


# -- whatever the marks are --------------------------------------------------------------------------

CATEGORIES = st.integers(OTHER, FIRST_NAMED + 2)
DETAILS = {
    ENTER: CATEGORIES, LEAVE: CATEGORIES, WAS: CATEGORIES, GOT: st.sampled_from([None, 8]),
    BEGIN: st.integers(0, 20), END: st.integers(0, 20), DONE: st.integers(0, 20), TRAINED: st.sampled_from([None, 8]),
    TRACED: st.none(), PROFILED: st.none(), EPOCH: st.tuples(st.integers(0, 3), st.sampled_from([None, 5])), EPOCH_END: st.none(),
    DEVICE: st.builds(device_spans, *[st.integers(0, 500)] * 2), ABANDON: st.none(),
}  # fmt: skip
ANY_MARK = st.sampled_from(sorted(DETAILS)).flatmap(lambda what: st.tuples(st.just(what), DETAILS[what]))


@given(
    st.lists(st.tuples(st.integers(-3, 60), ANY_MARK), max_size=80),
    st.lists(st.tuples(st.integers(0, 900), st.integers(0, 40)), max_size=30),
    st.sampled_from(list(Ends)),
    st.sampled_from([1, 4]),
    st.booleans(),
    st.booleans(),
)
def test_no_log_whatever_is_in_it_raises_or_gives_a_negative_time(steps, fetches, ends, per_call, stamped, device):
    reader, now_ns, marks = StepReader(per_call, ends=ends, stamped=stamped, device=device), 100, []
    for delta, (what, detail) in steps:
        now_ns += delta
        marks.append((now_ns, what, detail))
    rows = [Fetch(asked, asked + took) for asked, took in sorted(fetches)]
    for item in [*reader.read(marks, rows), *reader.finish()]:
        if isinstance(item, StepRecord):
            assert item.wall_ns >= (0 if device else 1)
            parts = (item.input_wait_ns or 0) + (item.compute_ns or 0)
            assert parts >= 0
            assert (item.input_wait_ns or 0) >= 0
            assert (item.compute_ns or 0) >= 0
            assert device or parts + (item.h2d_ns or 0) <= item.wall_ns
        elif isinstance(item, EpochGap):
            assert item.wall_ns >= 0


@given(
    st.lists(
        st.tuples(st.sampled_from([ENTER, LEAVE]), st.sampled_from([H2D, COMPUTE, FIRST_NAMED]), st.integers(0, 50)),
        max_size=60,
    )
)
def test_the_parts_of_a_step_add_up_to_its_wall_time_whatever_the_nesting(moves):
    reader, now_ns = StepReader(), 107
    marks = [(100, ENTER, INPUT), (now_ns, GOT, None)]
    for what, category, took_ns in moves:
        now_ns += took_ns
        marks.append((now_ns, what, category))
    marks += [(now_ns, TRAINED, None), (now_ns + 5, EPOCH_END, None)]
    (record,) = records(reader.read(marks))
    assert record.wall_ns == now_ns + 5 - 100
    claimed_ns = record.input_wait_ns + (record.h2d_ns or 0) + (record.compute_ns or 0)
    assert 7 <= claimed_ns <= record.wall_ns
    assert claimed_ns + record.other_ns == record.wall_ns
