"""A fit by hand, on a clock by hand, through the callback's own hooks: what a step appends, and what it does besides."""

import pytest

keras = pytest.importorskip("keras")

from feedwatch.hooks.destination import Destination  # noqa: E402
from feedwatch.hooks.keras.callback import FeedWatch  # noqa: E402
from feedwatch.hooks.keras.watched_fit import WatchedFit  # noqa: E402
from feedwatch.hooks.run import WatchedRun  # noqa: E402
from feedwatch.measure.marks import BEGIN, END, OTHER, WAS, Fetch  # noqa: E402
from feedwatch.measure.steps import StepReader  # noqa: E402
from feedwatch.model.report import Status  # noqa: E402
from feedwatch.settings import Settings  # noqa: E402
from tests.fakes.clock import FakeClock  # noqa: E402
from tests.fakes.values import run_facts  # noqa: E402
from tests.unit.test_hot_path_cost import best_ratio  # noqa: E402


class Stamps:
    """One fetch per call, in the middle of it."""

    def __init__(self):
        self.waiting, self.collected, self.closed = [], [], 0

    def wrap(self, iterator):
        return iter(iterator)

    def collect(self):
        self.collected += self.waiting
        self.waiting = []

    def fetches(self):
        taken, self.collected = self.collected, []
        return taken

    def discard(self):
        self.waiting.clear()
        self.collected.clear()

    def close(self):
        self.closed += 1


class Windows:
    """Wants to hear of some steps only, as profiler windows do."""

    def __init__(self, steps):
        self.steps, self.heard, self.breaks = list(steps), [], 0

    @property
    def next_step(self):
        return self.steps[0] if self.steps else 1 << 62

    def step_end(self, step):
        if step >= self.next_step:
            self.heard.append(step)
            self.steps.pop(0)

    def epoch_end(self):
        self.breaks += 1

    def close(self):
        return


class ByHand:
    def __init__(self, monkeypatch, windows=None):
        self.clock, self.stamps = FakeClock(), Stamps()
        monkeypatch.setattr("feedwatch.hooks.keras.callback._now_ns", self.clock.now_ns)
        reader = StepReader(stamped=True)
        facts = run_facts(framework="keras", backend="tensorflow")
        self.run = WatchedRun(facts, Settings(console=False), Destination(None, ()), reader, self.clock)
        self.run.session.stamped_fetches = self.stamps.fetches
        self.run.windows = windows
        self.fit = WatchedFit(
            self.run, reader, self.stamps, log_dir=None, end_mark=END, per_call=1, first_step=lambda: 0
        )
        self.ours = FeedWatch(console=False)
        self.ours._fit = self.ours._last = self.fit
        self.ours._choose_marks()
        self.looks, self.batch = [], 0
        look = self.fit.look
        monkeypatch.setattr(self.fit, "look", lambda batch: (self.looks.append(batch), look(batch))[1])
        self.fit.start_iterator([])

    def steps(self, count, step_ms=10):
        for _ in range(count):
            self.ours.on_train_batch_begin(self.batch)
            began_ns = self.clock.now_ns()
            self.stamps.waiting.append(Fetch(began_ns + 1_000_000, began_ns + 4_000_000))
            self.clock.advance_ms(step_ms - 1)
            self.ours.on_train_batch_end(self.batch)
            self.clock.advance_ms(1)
            self.batch += 1


@pytest.fixture
def by_hand(monkeypatch):
    made = ByHand(monkeypatch)
    made.ours.on_epoch_begin(0)
    yield made
    made.run.close(Status.FINISHED)


def test_most_steps_only_append(by_hand):
    by_hand.steps(300)  # three seconds
    assert by_hand.looks[0] == 0
    assert len(by_hand.looks) <= 7
    by_hand.ours.on_epoch_end(0)
    by_hand.ours.on_train_end()
    report = by_hand.ours.report
    assert report.steps.measured + report.steps.warmup == 300
    assert report.steps.dropped == 0
    assert report.phases["input_wait"].ms == pytest.approx(3.0, rel=0.02)
    assert report.phases["compute"].ms == pytest.approx(6.0, rel=0.02)


def test_a_step_appends_one_tuple_per_hook(by_hand):
    by_hand.steps(1)
    before = len(by_hand.run.marks.rows)
    by_hand.steps(1)
    assert [mark[1:] for mark in by_hand.run.marks.rows[before:]] == [(BEGIN, 1), (END, 1)]


def test_the_hooks_of_a_step_cost_less_than_thirty_clock_readings(monkeypatch):
    made = ByHand(monkeypatch)
    monkeypatch.undo()  # the real clock
    marks, ours = made.run.marks, made.ours
    marks.due_ns, marks.most = 1 << 62, 1 << 60

    def step():
        ours.on_train_batch_begin(3)
        ours.on_train_batch_end(3)

    try:
        assert best_ratio(step) < 0.3
    finally:
        marks.rows.clear()
        made.run.close(Status.FINISHED)


def test_marks_waiting_are_bounded(by_hand):
    by_hand.fit._most = by_hand.run.marks.most = 10
    for _ in range(40):
        by_hand.steps(1, step_ms=1)
        assert len(by_hand.run.marks.rows) <= 12
        assert len(by_hand.stamps.waiting) <= 6


def test_profiler_windows_hear_of_the_steps_they_asked_for_in_every_epoch(monkeypatch):
    windows = Windows([0, 3, 7, 8, 9, 40, 65])
    made = ByHand(monkeypatch, windows)
    made.ours.on_epoch_begin(0)
    made.steps(60, step_ms=1)
    made.ours.on_epoch_end(0)
    assert windows.breaks == 1
    made.ours.on_epoch_begin(1)
    made.batch = 0
    made.steps(10, step_ms=1)
    assert windows.heard == [0, 3, 7, 8, 9, 40, 65]
    made.run.close(Status.FINISHED)


def test_what_a_begin_hook_does_besides_is_not_compute(by_hand, monkeypatch):
    by_hand.steps(2)
    hand_over = by_hand.fit.hand_over

    def slow_hand_over():
        hand_over()
        by_hand.clock.advance_ms(500)

    monkeypatch.setattr(by_hand.fit, "hand_over", slow_hand_over)
    by_hand.run.marks.due_ns = 0
    by_hand.ours.on_train_batch_begin(2)
    assert by_hand.run.marks.rows[-1] == (by_hand.clock.now_ns(), WAS, OTHER)


def test_marks_of_a_nested_fit_are_not_ours(by_hand):
    by_hand.steps(3)
    by_hand.fit.nested = 1
    by_hand.ours._choose_marks()
    before = list(by_hand.run.marks.rows)
    by_hand.ours.on_train_batch_begin(0)
    by_hand.ours.on_train_batch_end(0)
    by_hand.fit.epoch_begin(1)
    by_hand.fit.epoch_end()
    by_hand.fit.test_begin()
    by_hand.fit.test_end()
    assert by_hand.run.marks.rows == before
    assert by_hand.fit.finish() is False
    by_hand.ours._choose_marks()
    by_hand.steps(1)
    assert len(by_hand.run.marks.rows) > len(before)


def test_nothing_waits_for_ever_when_we_are_switched_off(by_hand):
    by_hand.run.guard.off = True
    by_hand.steps(500)
    assert len(by_hand.run.marks.rows) <= 250
    assert len(by_hand.stamps.waiting) <= 125


def test_the_end_reads_the_last_fetches_and_gives_them_up_also_where_we_are_switched_off(by_hand):
    by_hand.steps(2)
    by_hand.run.guard.off = True
    by_hand.ours.on_train_end()
    assert by_hand.run.closed
    assert by_hand.stamps.closed == 1


def test_where_no_iterator_is_timed_the_wait_is_not_measured_and_that_is_said(by_hand):
    by_hand.fit._iterators = 0
    by_hand.stamps.collect = by_hand.stamps.discard
    by_hand.steps(20)
    by_hand.ours.on_epoch_end(0)
    by_hand.ours.on_train_end()
    report = by_hand.ours.report
    assert report.steps.batches == 20
    assert report.phases["input_wait"] is None
    assert any("no iterator of this fit could be timed" in note for note in report.self_cost.notes)
