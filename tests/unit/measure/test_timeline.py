"""Which steps a report shows one by one."""

import json
from dataclasses import asdict

from feedwatch.measure.marks import BEGIN, ENTER, EPOCH, EPOCH_END, GOT, INPUT
from feedwatch.measure.steps import Ends, StepReader
from feedwatch.measure.timeline import LAST_STEPS, MOST_BYTES, RING_MARKS, Timeline, size_bytes
from feedwatch.measure.window import WindowCutter
from feedwatch.model.pipeline import Made

MS = 1_000_000


class Run:
    """A loop of one's own, handed over window by window."""

    def __init__(self, made=()):
        self.reader = StepReader(ends=Ends.NEXT)
        self.timeline = Timeline(self.reader)
        self.timeline.made = lambda: made
        self._cutter = WindowCutter(0.01, 0)
        self._ns = 1_000 * MS
        self._batch = 0

    def epoch(self, steps):
        self._batch = 0
        self.window([(self._ns, EPOCH_END, None), (self._ns, EPOCH, (1, None))], steps)

    def window(self, marks=(), steps=10, wait_ms=3, compute_ms=7, slow_at=None):
        marks = list(marks)
        for step in range(steps):
            marks.append((self._ns, ENTER, INPUT))
            self._ns += wait_ms * MS
            marks += [(self._ns, GOT, 4), (self._ns, BEGIN, self._batch)]
            self._batch += 1
            self._ns += (90 if step == slow_at else compute_ms) * MS
        items = list(self.reader.read(marks))
        for item in items:
            self._cutter.add(item)
        piece = self._cutter.cut(0.0, self._ns, self.reader.dropped)
        self.timeline.see(marks, (), [] if piece is None else [piece])

    def excerpt(self, why):
        return next(each for each in self.timeline.section().excerpts if each.why == why)


def test_the_last_steps_are_shown_as_they_were():
    run = Run()
    run.epoch(40)
    run.window()
    last = run.excerpt("last")
    loop = last.lanes[0]
    assert len(last.step) == LAST_STEPS
    assert last.step[-1] == 49  # the step behind it has not ended yet
    assert (last.begin_us[1], last.wall_us) == (10_000, 10_000 * LAST_STEPS)
    assert loop.took_us[:2] == (3_000, 7_000)
    assert loop.phase[:2] == (0, 2)
    assert sum(loop.took_us) == last.wall_us


def test_batches_have_their_number_in_the_epoch():
    run = Run()
    run.epoch(30)
    run.epoch(20)
    last = run.excerpt("last")
    assert [number for number in last.lanes[0].batch if number] == list(range(8, 20))


def test_lost_marks_leave_the_numbers_of_an_epoch_unknown():
    run = Run()
    run.epoch(20)
    run.reader.lost()
    run.window()
    assert set(run.excerpt("last").lanes[0].batch) <= {0, *range(8, 20)}
    run.window()
    assert set(run.excerpt("last").lanes[0].batch) == {0}
    run.epoch(20)
    assert max(run.excerpt("last").lanes[0].batch) == 19


def test_the_slowest_step_is_kept_with_its_neighbours_however_long_ago_it_was():
    run = Run()
    run.epoch(20)
    run.window(slow_at=4)
    for _ in range(300):
        run.window()
    slowest = run.excerpt("slowest")
    assert len(slowest.step) == 5
    assert max(slowest.lanes[0].took_us) == 90_000


def test_a_few_places_of_the_run_are_kept_and_the_memory_does_not_grow():
    run = Run()
    for _ in range(200):
        run.window()
    samples = [each for each in run.timeline.section().excerpts if each.why == "sample"]
    assert 4 <= len(samples) <= 8
    assert samples[0].step[0] < 100
    assert samples[-1].step[0] > 1000
    assert len(run.timeline._marks) <= RING_MARKS


def test_worker_lanes_show_what_was_made_when():
    made = [Made(0, 1_000 * MS, 1_020 * MS, 1), Made(1, 1_395 * MS, 1_420 * MS, 2), Made(1, 2_000 * MS, 2_001 * MS, 4)]
    run = Run(made)
    run.epoch(50)
    lanes = {lane.name: lane for lane in run.excerpt("last").lanes}
    assert lanes["Worker 0"].begin_us == ()  # long before these steps
    assert lanes["Worker 1"].took_us == (25_000,)
    assert lanes["Worker 1"].batch == (2,)


def test_the_section_is_bounded_whatever_the_workers_do():
    made = [Made(worker, (990 + at) * MS, (990 + at) * MS + MS // 2, at) for worker in range(64) for at in range(128)]
    run = Run(made)
    for _ in range(30):
        run.window()
    section = run.timeline.section()
    assert len(json.dumps(asdict(section))) <= MOST_BYTES
    estimated = sum(map(size_bytes, section.excerpts))
    assert 0.8 <= len(json.dumps(asdict(section))) / estimated <= 1.2


def test_there_is_nothing_before_the_first_step():
    assert Timeline(StepReader()).section() is None
