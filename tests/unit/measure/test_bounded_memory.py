"""P5: memory does not depend on the number of steps."""

import os

import psutil
import pytest

from feedwatch.measure.recorder import MAX_SLICE_STEPS, StepRecorder
from feedwatch.measure.run_so_far import RunSoFar
from feedwatch.measure.window import Piece
from feedwatch.model.steps import StepRecord
from tests.fakes.clock import FakeClock

TEN_MILLION = 10_000_000


def _records(first: int) -> list[StepRecord]:
    steps = range(first, first + MAX_SLICE_STEPS)
    return [
        StepRecord(step, 10**6 + step % 977, 4 * 10**5 + step % 313, None, 5 * 10**5 + step % 101) for step in steps
    ]


@pytest.mark.slow
def test_ten_million_steps_grow_memory_by_less_than_8_mb():
    """The records of one slice are fed again and again: making ten million tuples would only test Python."""
    course, process = RunSoFar(), psutil.Process(os.getpid())
    records = _records(0)
    slices = TEN_MILLION // MAX_SLICE_STEPS
    for index in range(450):  # until every bounded structure is full, the history of 400 points included
        course.add(Piece(records, [], float(index), index * 10**9, 0))
    before_bytes = process.memory_info().rss
    for index in range(450, slices + 1):
        course.add(Piece(records, [], float(index), index * 10**9, 0))
    assert process.memory_info().rss - before_bytes < 8_000_000
    assert course.counts.measured >= TEN_MILLION
    assert len(course.history.series().step) <= 400


def test_the_recorder_holds_one_window_however_many_steps_pass():
    sizes = []
    recorder = StepRecorder(FakeClock(), lambda piece: sizes.append(len(piece.records)), 3600.0, warmup_steps=3)
    for record in _records(0) * 20:
        recorder.add(record._replace(wall_ns=1000))
    assert max(sizes) == MAX_SLICE_STEPS
    assert sum(sizes) == 20 * MAX_SLICE_STEPS
