"""Which steps belong to one window, and what they add up to."""

import random

import pytest

from feedwatch.measure.window import MAX_WINDOW_STEPS, WindowCutter, clumps, columns, fold
from feedwatch.model.steps import EpochGap, EpochMark, StepKind
from tests.fakes.values import record


def cutter(warmup_steps=0, window_seconds=1.0):
    made = WindowCutter(window_seconds, warmup_steps)
    made.add(EpochMark(0, 0))
    return made


def cut(windows):
    return windows.cut(1.0, 1, 0)


def test_a_window_is_full_after_its_time():
    windows = cutter()
    assert [windows.add(record(step, wall_ms=100)) for step in range(10)] == [False] * 9 + [True]


def test_a_window_that_is_a_step_short_of_its_time_is_full_enough_when_marks_were_handed_over():
    windows = cutter()
    for step in range(4):
        windows.add(record(step, wall_ms=100))
    assert not windows.full_enough()
    windows.add(record(4, wall_ms=100))
    assert windows.full_enough()


def test_a_window_has_at_least_the_steps_of_two_worker_rounds():
    windows = cutter()
    windows.min_steps = 16
    assert [windows.add(record(step, wall_ms=500)) for step in range(16)] == [False] * 15 + [True]


def test_microsecond_steps_do_not_grow_a_window_without_end():
    windows = cutter()
    full = [windows.add(record(step, wall_ms=0.001, wait_ms=0, compute_ms=0.001)) for step in range(MAX_WINDOW_STEPS)]
    assert full.index(True) == MAX_WINDOW_STEPS - 1


def test_warmup_and_the_first_step_of_an_epoch_are_kept_apart():
    windows = cutter(warmup_steps=2)
    for step in range(4):
        windows.add(record(step))
    windows.add(EpochMark(1, 4))
    windows.add(record(4))
    windows.add(record(5))
    assert [item.kind.value for item in cut(windows).records] == [
        "warmup", "warmup", "steady", "steady", "epoch_first", "steady",
    ]  # fmt: skip


def test_a_step_that_the_engine_calls_warmup_stays_warmup():
    windows = cutter()
    windows.add(record(0, kind=StepKind.WARMUP))
    assert cut(windows).records[0].kind is StepKind.WARMUP


def test_gaps_and_epochs_travel_with_their_window():
    windows = cutter()
    windows.add(EpochGap(step=10, wall_ns=5))
    windows.add(EpochMark(1, 10))
    piece = cut(windows)
    assert piece.gaps == [EpochGap(10, 5, None)]
    assert piece.epochs == ((0, "epoch 1"), (10, "epoch 2"))


def test_nothing_measured_is_no_window():
    assert cut(cutter()) is None


def test_a_window_adds_up():
    steps = [record(step, wall_ms=10, wait_ms=4, h2d_ms=1, compute_ms=3) for step in range(4)]
    window = fold(columns(steps))
    assert sum(phase.total_ns for phase in window.phases.values()) == window.wall_ns == 40_000_000
    assert window.stall_ratio == pytest.approx(0.4)


def test_a_phase_that_one_step_does_not_know_is_unknown_for_the_window():
    window = fold(columns([record(0, h2d_ms=1), record(1, h2d_ms=None)]))
    assert window.phases["h2d"] is None


def test_stalls_are_waits_that_stand_out():
    found = clumps([100_000, 8_000_000, 100_000], step_median_ns=10_000_000)
    assert (found.stalled_steps, found.largest_wait_ns) == (1, 8_000_000)


def test_a_step_that_a_profiler_touched_is_no_steady_step_and_no_first_step():
    windows = cutter()
    for step, kind in enumerate([StepKind.PROFILED, StepKind.STEADY, StepKind.PROFILED]):
        windows.add(record(step)._replace(kind=kind))
    kinds = [each.kind for each in cut(windows).records]
    assert kinds == [StepKind.PROFILED, StepKind.STEADY, StepKind.PROFILED]


@pytest.mark.parametrize("seed", range(20))
def test_steps_that_are_given_together_are_cut_as_one_by_one(seed):
    draw = random.Random(seed)
    together, singly = cutter(warmup_steps=draw.choice([0, 3])), cutter()
    singly._warmup_left, together.min_steps = together._warmup_left, draw.choice([4, 40])
    singly.min_steps = together.min_steps
    pieces = []
    for _ in range(12):
        steps = [record(step, wall_ms=draw.choice([0.1, 20, 700])) for step in range(draw.randrange(1, 90))]
        left = steps
        while left:
            left = left[together.add_some(left) :]
            if together.full():
                pieces.append(together.cut(0.0, 0, 0))
        expected = [singly.cut(0.0, 0, 0) for step in steps if singly.add(step)]
        assert pieces == expected
        pieces.clear()


def test_steps_of_microseconds_that_are_given_together_are_cut_at_the_same_number():
    windows, steps = cutter(), [record(step, wall_ms=0.001) for step in range(2 * MAX_WINDOW_STEPS)]
    windows.add(steps[0])
    assert windows.add_some(steps[1:]) == MAX_WINDOW_STEPS - 1
    assert windows.full()
