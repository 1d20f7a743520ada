"""Marks that were only appended: replayed in order, settled when something is due, and not more often."""

import pytest

pytest.importorskip("keras")

from feedwatch.guard import Guard
from feedwatch.hooks.keras import marks as marks_module
from feedwatch.hooks.keras.attribution import Fetch
from feedwatch.hooks.keras.callback import FeedWatch
from feedwatch.hooks.keras.marks import mark_cost_ns
from feedwatch.hooks.keras.retraces import Retraces
from feedwatch.hooks.keras.timeline import Timeline
from feedwatch.hooks.keras.watch import Watch
from feedwatch.model.facts import RunFacts
from feedwatch.model.report import Status
from feedwatch.session import Session
from feedwatch.settings import Settings

MS = 1_000_000


class Fetches:
    """A source that knows one fetch per call, in the middle of it."""

    name, measures, per_iterator, drain_calls = "by hand", True, False, 0

    def __init__(self):
        self.waiting = []

    def wrap(self, iterator):
        return iterator

    def drain(self):
        taken, self.waiting = self.waiting, []
        return taken

    def close(self):
        return


class Windows:
    """Wants to hear of some steps only, as profiler windows do."""

    def __init__(self, steps):
        self.steps, self.heard = list(steps), []

    @property
    def next_step(self):
        return self.steps[0] if self.steps else 1 << 62

    def step_end(self, step):
        if step >= self.next_step:
            self.heard.append(step)
            self.steps.pop(0)

    def epoch_end(self):
        return


class Fit:
    """A fit by hand, on a clock by hand, through the callback's own hooks."""

    def __init__(self, monkeypatch, drain_calls=1000, windows=None):
        self.now_ns = 1_000 * MS
        for module in ("callback", "watch", "marks"):
            monkeypatch.setattr(f"feedwatch.hooks.keras.{module}._now_ns", lambda: self.now_ns)
        run = RunFacts("keras", "3", "tensorflow", "cpu")
        self.source = Fetches()
        session = Session.open(run, Settings(), [], None)
        timeline = Timeline(1, header_fetch=False)
        self.watch = Watch(session, timeline, self.source, None, drain_calls=drain_calls, drain_ns=1_000 * MS)
        self.watch.windows = windows
        self.ours = FeedWatch(console=False)
        self.ours._watch = self.ours._last = self.watch
        self.ours._choose_marks()
        self.settled = []
        settle = self.watch.settle
        monkeypatch.setattr(self.watch, "settle", lambda: (self.settled.append(self.batch), settle())[1])
        self.batch = 0

    def steps(self, count, step_ms=10):
        for _ in range(count):
            self.ours.on_train_batch_begin(self.batch)
            self.source.waiting.append(Fetch(self.now_ns + MS, self.now_ns + 4 * MS))
            self.now_ns += step_ms * MS - MS
            self.ours.on_train_batch_end(self.batch)
            self.now_ns += MS
            self.batch += 1


@pytest.fixture
def fit(monkeypatch):
    made = Fit(monkeypatch)
    made.ours.on_epoch_begin(0)
    yield made
    made.watch.close(Status.FINISHED)


def test_most_steps_only_append(fit):
    fit.steps(300)  # three seconds
    assert fit.settled[0] == 0
    assert len(fit.settled) <= 7
    fit.ours.on_epoch_end(0)
    fit.watch.close(Status.FINISHED)
    report = fit.watch.report
    assert report.steps.measured + report.steps.warmup == 300
    assert report.phases["input_wait"].ms == pytest.approx(3.0, rel=0.02)


def test_marks_waiting_are_bounded_by_the_number_of_calls(monkeypatch):
    fit = Fit(monkeypatch, drain_calls=5)
    fit.ours.on_epoch_begin(0)
    for _ in range(40):
        fit.steps(1, step_ms=1)
        assert len(fit.watch.marks.rows) <= 2 * 5
        assert len(fit.source.waiting) <= 6
    fit.watch.close(Status.FINISHED)


def test_profiler_windows_hear_of_the_steps_they_asked_for(monkeypatch):
    windows = Windows([0, 3, 7, 8, 9, 40])
    fit = Fit(monkeypatch, windows=windows)
    fit.ours.on_epoch_begin(0)
    fit.steps(60, step_ms=1)
    assert windows.heard == [0, 3, 7, 8, 9, 40]
    fit.watch.close(Status.FINISHED)


def test_what_a_begin_hook_does_besides_is_not_compute(fit, monkeypatch):
    fit.steps(2)
    drain = fit.watch.drain

    def slow_drain():
        drain()
        fit.now_ns += 500 * MS

    monkeypatch.setattr(fit.watch, "drain", slow_drain)
    fit.now_ns = fit.watch.marks.due_ns
    fit.steps(3)
    fit.ours.on_epoch_end(0)
    seen = list(fit.watch.timeline.drain(fit.source.drain()))
    assert max(record.wall_ns for record in seen if hasattr(record, "wall_ns")) > 500 * MS
    assert max(record.compute_ns or 0 for record in seen if hasattr(record, "compute_ns")) < 20 * MS


def test_marks_of_a_nested_fit_are_not_ours(fit):
    fit.steps(3)
    fit.watch.nested = 1
    fit.ours._choose_marks()
    fit.ours.on_train_batch_begin(0)
    fit.ours.on_train_batch_end(0)
    fit.watch.about_to_call()
    fit.watch.nested = 0
    fit.ours._choose_marks()
    fit.steps(2)
    fit.watch.replay()
    assert fit.watch.timeline.calls == 4  # the fifth waits for the next begin


def test_nothing_waits_for_ever_when_we_are_switched_off(fit):
    fit.ours._guard = Guard("the Keras hook")
    fit.ours._guard.off = True
    fit.steps(500)
    assert len(fit.watch.marks.rows) <= 250
    assert len(fit.source.waiting) <= 125


def test_a_call_that_traced_is_told_apart():
    traces = []
    retraces = Retraces()
    assert not retraces.traced(5)  # nobody counts
    retraces.traces_ns = lambda: traces
    assert retraces.traced(10)  # the first one
    assert not retraces.traced(20)
    traces += [25, 27, 41]
    # Replayed later: the trace at 41 belongs to a later call.
    assert [retraces.traced(end_ns) for end_ns in (24, 30, 40, 50, 60)] == [False, True, False, True, False]
    assert retraces.count == 2


def test_the_cost_of_a_mark_is_a_small_positive_figure():
    assert 50 * marks_module.COLD < mark_cost_ns() < 1_000_000
