"""P5: memory does not depend on the number of steps."""

import os

import psutil
import pytest

from feedwatch.measure.marks import BEGIN, END, Fetch
from feedwatch.measure.run_so_far import RunSoFar
from feedwatch.measure.steps import StepReader
from feedwatch.measure.window import MAX_WINDOW_STEPS, Piece, WindowCutter
from feedwatch.model.steps import StepRecord

TEN_MILLION = 10_000_000


def _records(first: int) -> list[StepRecord]:
    steps = range(first, first + MAX_WINDOW_STEPS)
    return [
        StepRecord(step, 10**6 + step % 977, 4 * 10**5 + step % 313, None, 5 * 10**5 + step % 101) for step in steps
    ]


@pytest.mark.slow
def test_ten_million_steps_grow_memory_by_less_than_8_mb():
    """The records of one slice are fed again and again: making ten million tuples would only test Python."""
    course, process = RunSoFar(), psutil.Process(os.getpid())
    records = _records(0)
    slices = TEN_MILLION // MAX_WINDOW_STEPS
    for index in range(450):  # until every bounded structure is full, the history of 400 points included
        course.add(Piece(records, [], float(index), index * 10**9, 0))
    before_bytes = process.memory_info().rss
    for index in range(450, slices + 1):
        course.add(Piece(records, [], float(index), index * 10**9, 0))
    assert process.memory_info().rss - before_bytes < 8_000_000
    assert course.counts.measured >= TEN_MILLION
    assert len(course.history.series().step) <= 400


def test_the_cutter_holds_one_window_however_many_steps_pass():
    windows = WindowCutter(3600.0, warmup_steps=3)
    steps = (record._replace(wall_ns=1000) for record in _records(0) * 20)
    sizes = [len(windows.cut(0.0, 0, 0).records) for step in steps if windows.add(step)]
    assert max(sizes) == MAX_WINDOW_STEPS
    assert sum(sizes) == 20 * MAX_WINDOW_STEPS


def test_the_engine_holds_no_more_after_a_hundred_thousand_steps_than_after_a_thousand():
    reader, held = StepReader(stamped=True), []
    for first in range(0, 100_000, 1000):
        marks, rows = [], []
        for number in range(first, first + 1000):
            at_ns = number * 10**6
            marks += [(at_ns, BEGIN, number), (at_ns + 900_000, END, number)]
            rows.append(Fetch(at_ns + 1, at_ns + 400_000, 8))
        assert sum(1 for _ in reader.read(marks, rows)) >= 999
        held.append(len(reader._pending) + len(reader._rows) + len(reader._done_ns) + len(reader._device_times))
    assert max(held) <= 2
