import pytest

from feedwatch.measure.recorder import MAX_SLICE_STEPS, StepRecorder
from feedwatch.model.steps import EpochGap, StepKind
from tests.fakes.clock import FakeClock
from tests.fakes.values import record


@pytest.fixture
def slices():
    return []


def recorder(slices, warmup_steps=0, window_seconds=1.0):
    made = StepRecorder(FakeClock(), slices.append, window_seconds, warmup_steps)
    made.epoch_begin(0, 0)
    return made


def test_a_window_closes_after_its_time(slices):
    watched = recorder(slices)
    for step in range(11):
        watched.add(record(step, wall_ms=100))
    assert [len(piece.records) for piece in slices] == [10]


def test_a_window_has_at_least_the_steps_of_two_worker_rounds(slices):
    watched = recorder(slices)
    watched.min_steps = 16
    for step in range(16):
        watched.add(record(step, wall_ms=500))
    assert [len(piece.records) for piece in slices] == [16]


def test_microsecond_steps_do_not_grow_a_window_without_end(slices):
    watched = recorder(slices)
    for step in range(MAX_SLICE_STEPS):
        watched.add(record(step, wall_ms=0.001, wait_ms=0, compute_ms=0.001))
    assert [len(piece.records) for piece in slices] == [MAX_SLICE_STEPS]


def test_warmup_and_the_first_step_of_an_epoch_are_kept_apart(slices):
    watched = recorder(slices, warmup_steps=2)
    for step in range(4):
        watched.add(record(step))
    watched.epoch_begin(1, 4)
    watched.add(record(4))
    watched.add(record(5))
    watched.hand_over()
    kinds = [item.kind for item in slices[0].records]
    assert kinds == [
        StepKind.WARMUP,
        StepKind.WARMUP,
        StepKind.STEADY,
        StepKind.STEADY,
        StepKind.EPOCH_FIRST,
        StepKind.STEADY,
    ]


def test_a_step_that_the_hook_calls_warmup_stays_warmup(slices):
    watched = recorder(slices)
    watched.add(record(0, kind=StepKind.WARMUP))
    watched.hand_over()
    assert slices[0].records[0].kind is StepKind.WARMUP


def test_gaps_and_epoch_marks_travel_with_the_window(slices):
    watched = recorder(slices)
    watched.gap(EpochGap(step=10, wall_ns=5, loader_start_ns=None))
    watched.epoch_begin(1, 10)
    watched.hand_over()
    assert slices[0].gaps == [EpochGap(10, 5, None)]
    assert slices[0].epochs == ((0, "epoch 1"), (10, "epoch 2"))


def test_nothing_measured_hands_nothing_over(slices):
    recorder(slices).hand_over()
    assert slices == []
