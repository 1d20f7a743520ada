"""One fit under observation: takes the marks, drains the fetches, feeds the session, ends once."""

import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from feedwatch.guard import Guard
from feedwatch.hooks.keras.fetch_sources import FetchSource
from feedwatch.hooks.keras.marks import BEGIN, CALLED, END, Marks, mark_cost_ns
from feedwatch.hooks.keras.own_cost import SAMPLE_MASK, OwnCost
from feedwatch.hooks.keras.retraces import Retraces
from feedwatch.hooks.keras.timeline import Timeline
from feedwatch.hooks.undo import Undo
from feedwatch.model.report import Report, Status
from feedwatch.model.steps import EpochGap, StepRecord
from feedwatch.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from feedwatch.probe.profiling import ProfilerWindows

# Soon after the first steps, then less and less often up to a window: what they tell is wanted early.
FIRST_DRAIN_NS: Final = 50_000_000
LATER_BY: Final = 4

_now_ns = time.perf_counter_ns


class Watch:
    def __init__(
        self,
        session: Session,
        timeline: Timeline,
        source: FetchSource,
        log_dir: Path | None,
        *,
        drain_calls: int,
        drain_ns: int,
    ) -> None:
        self.session = session
        self.source = source
        self.log_dir = log_dir
        self.undo = Undo()
        self.iterators = 0  # seen so far; none at the first step: the fetches cannot be timed
        self.console = False
        self.nested = 0  # the same callback is in use by a fit inside this one
        self.timeline = timeline
        self.cost = OwnCost()
        self.guard = Guard("the Keras hook", session.note)
        session.ends = self.guarded_close
        self._discarding = Guard("the source of fetches", session.note)
        self.on_first_epoch: list[Callable[[], None]] = []
        self.on_first_step: list[Callable[[], None]] = []
        self.on_iterator: list[Callable[[Any], None]] = []
        self.on_drain: list[Callable[[], None]] = []
        self.on_close: list[Callable[[], None]] = []
        self.windows: ProfilerWindows | None = None
        self._begun = 0
        self.retraces = Retraces()
        self._thread = threading.get_ident()
        self._drain_calls, self._most_drain_ns = drain_calls, drain_ns
        self._drain_ns = min(FIRST_DRAIN_NS, drain_ns)
        self._drain_at_ns = _now_ns() + self._drain_ns
        self._begin_cost_ns = 0
        self.marks = Marks(2 * drain_calls) if timeline.at_once else None  # None: every mark is told at once
        self.released: weakref.ref[Any] | None = None  # of fit's callback list: tells that fit is gone

    def watches(self, callback_list: Any) -> bool:
        return self.released is not None and self.released() is callback_list

    @property
    def report(self) -> Report | None:
        return self.session.report

    @property
    def steps(self) -> int:
        return self.timeline.steps

    # -- marks that were only appended -----------------------------------------------------------

    def settle(self) -> None:
        """In a begin hook that has more to do than to append its mark."""
        now_ns = _now_ns()
        self.replay()
        if self.windows is not None:
            self.windows.step_end(self._begun - 1)
        if self.on_first_step:
            self._run_once(self.on_first_step)
        self._drain_when_due(now_ns)
        self._rearm()
        # What was done here is ours and not the step's.
        self.timeline.called(_now_ns())

    def replay(self) -> None:
        if self.marks is None:
            return
        began_ns = _now_ns()
        timeline = self.timeline
        for which, batch, now_ns in self.marks.take():
            if which == BEGIN:
                timeline.begin(batch, now_ns)
                self._begun += 1
            elif which == END:
                timeline.end(batch, now_ns, self.retraces.traced(now_ns))
            else:
                timeline.called(now_ns)
        self.cost.drain(_now_ns() - began_ns)

    def _rearm(self) -> None:
        """When the next begin hook has something to do; an end and a begin mark come with every call."""
        assert self.marks is not None
        calls = max(1, self._drain_calls - self.timeline.pending)
        if self.windows is not None:
            calls = min(calls, max(1, self.windows.next_step - self._begun + 1))
        self.marks.most = 2 * calls
        self.marks.due_ns = self._drain_at_ns

    # -- marks -----------------------------------------------------------------------------------

    def step_begin(self, batch: int) -> None:
        if self.nested:
            return
        if self.windows is not None:
            self.windows.step_end(self._begun)
            self._begun += 1
        now_ns = _now_ns()
        timeline = self.timeline
        timeline.begin(batch, now_ns)
        if self.on_first_step:
            self._run_once(self.on_first_step)
        if not self._drain_when_due(now_ns) and not timeline.calls & SAMPLE_MASK:
            self._begin_cost_ns = _now_ns() - now_ns

    def about_to_call(self) -> None:
        if self.marks is None:
            self.timeline.called(_now_ns())
        elif not self.nested:
            self.marks.rows.append((CALLED, 0, _now_ns()))

    def step_end(self, batch: int) -> None:
        now_ns = _now_ns()
        if self.nested:
            return
        timeline = self.timeline
        if threading.get_ident() != self._thread:
            timeline.done(batch, now_ns)
        else:
            timeline.end(batch, now_ns, self.retraces.traced(now_ns))
        if self._begin_cost_ns:
            self.cost.hooks(self._begin_cost_ns + _now_ns() - now_ns)
            self._begin_cost_ns = 0

    def epoch_begin(self, epoch: int) -> None:
        if self.nested:
            return
        if self.on_first_epoch:
            self._run_once(self.on_first_epoch)
        self.replay()
        self.timeline.epoch_begin(epoch)

    def epoch_end(self) -> None:
        if not self.nested:
            self.replay()
            self._end_window()
            self.timeline.epoch_end(_now_ns())

    def test_begin(self) -> None:
        if not self.nested:
            self.replay()
            self._end_window()
            self.timeline.test_begin(_now_ns())

    def _end_window(self) -> None:
        if self.windows is not None:
            self.windows.epoch_end()
            if self.marks is not None:
                self.marks.due_ns = 0  # the next window may come earlier now

    def test_end(self) -> None:
        if not self.nested:
            self.timeline.test_end(_now_ns())

    def start_iterator(self, iterable: Any) -> Any:
        """Called by Keras in place of iter(): the user's iterator is made, timed, and gets its twin."""
        self.guard.run(self._end_of_iterator)
        began_ns = _now_ns()
        iterator = iter(iterable)  # the user's own code, and the user's own errors
        self.timeline.loader_started(_now_ns() - began_ns)
        return self.twin_of(iterator)

    def twin_of(self, iterator: Any) -> Any:
        twin = self.guard.run(self.take_iterator, iterator)
        return iterator if twin is None else twin

    def take_iterator(self, iterator: Any) -> Any:
        self.iterators += 1
        if self.session.closed:
            return iterator
        for action in self.on_iterator:
            action(iterator)
        return self.source.wrap(iterator)

    def _end_of_iterator(self) -> None:
        self.replay()
        self.timeline.pause(_now_ns())
        if self.source.per_iterator:
            self.drain()

    # -- now and then ----------------------------------------------------------------------------

    def _drain_when_due(self, now_ns: int) -> bool:
        if now_ns < self._drain_at_ns and self.timeline.pending < self._drain_calls:
            return False
        if self.guard.off:
            self.discard()
        else:
            self.guard.run(self.drain)  # the guard of all drains: one that keeps failing is told once
        return True

    def drain(self) -> None:
        self.replay()
        began_ns = _now_ns()
        recorder = self.session.recorder
        for item in self.timeline.drain(self.source.drain()):
            if isinstance(item, StepRecord):
                recorder.add(item)
            elif isinstance(item, EpochGap):
                recorder.gap(item)
            else:
                recorder.epoch_begin(item.epoch, item.step)
        recorder.dropped = self.timeline.dropped
        for action in self.on_drain:
            action()
        now_ns = _now_ns()
        self.cost.drain(now_ns - began_ns)
        self._drain_ns = min(LATER_BY * self._drain_ns, self._most_drain_ns)
        self._drain_at_ns = now_ns + self._drain_ns
        if self.marks is not None and not self.cost.sampled:
            self.cost.hooks(int(mark_cost_ns()))
        own_ns = self.cost.ns_per_step(self.timeline.calls)
        if own_ns is not None:
            self.session.own_cost(own_ns)

    def discard(self) -> None:
        """Where we are switched off: the graph goes on stamping, and nothing may pile up."""
        self._drain_at_ns = _now_ns() + self._most_drain_ns
        if self.marks is not None:
            self.marks.take()
            self._rearm()
        self._discarding.run(self.source.drain)

    def finish(self) -> bool:
        """Train end. False: it was the end of a fit nested in ours."""
        if self.nested:
            self.nested -= 1
            return False
        self.close(Status.FINISHED)
        return True

    def guarded_close(self, status: Status) -> None:
        self.guard.run(self.close, status)

    def close(self, status: Status) -> None:
        """Idempotent; from the end hook, an exception, the next begin or the release of fit's own objects."""
        if self.session.closed:
            return
        self.guard.run(self.replay)
        if status is not Status.FINISHED:
            self.timeline.abandon()
        self.timeline.epoch_end(_now_ns())
        self.timeline.hold = False
        self.guard.run(self.timeline.finish)
        self.guard.run(self.drain)
        for action in self.on_close:
            self.guard.run(action)
        self.guard.run(self.undo.all)
        self.guard.run(self.source.close)
        self.session.close(status)
        if self.console and self.report is not None:
            self.guard.run(_print, self.report, self.log_dir)
        self.on_first_epoch, self.on_first_step, self.on_drain, self.on_close = [], [], [], []
        self.released = self.windows = None

    def _run_once(self, actions: "list[Callable[[], None]]") -> None:
        waiting = list(actions)
        actions.clear()
        for action in waiting:
            self.guard.run(action)


def _print(report: Report, log_dir: Path | None) -> None:
    """To stderr: a script's own output stays clean."""
    from rich.console import Console

    from feedwatch.report.console import print_summary

    if report.run.rank == 0:
        print_summary(report, Console(stderr=True), "" if log_dir is None else str(log_dir))
