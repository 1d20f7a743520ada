"""What every hook is given: one watched run.

    run = WatchedRun(facts, settings, destination, StepReader(...))   # in the first begin hook, never in __init__
    run.append((run.now_ns(), ENTER, INPUT))      # the hot path: a tuple appended, nothing decided
    if run.due():                                 # now and then, where the loop can spare a moment
        run.hand_over()
    run.close(Status.FINISHED)                    # once, however the run ends

A hook takes marks and hands over facts. What the marks mean is decided on the sink's thread, by one engine.
"""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from feedwatch.guard import Guard, told
from feedwatch.hooks.destination import Destination
from feedwatch.hooks.undo import Undo
from feedwatch.measure.clock import SYSTEM_CLOCK, Clock
from feedwatch.measure.marks import ABANDON, ENTER, EPOCH_END, LEAVE, PROFILED, Mark, Marks, mark_cost_ns
from feedwatch.measure.steps import StepReader
from feedwatch.model.facts import RunFacts
from feedwatch.model.report import Report, Status
from feedwatch.model.verdict import Bound
from feedwatch.probe.device_memory import DeviceMemory
from feedwatch.probe.profiling import ProfilerBackend, ProfilerWindows
from feedwatch.report.card import show_reports_in_notebooks
from feedwatch.report.json import keep_earlier
from feedwatch.report.progress import ProgressLine
from feedwatch.session import FactPatch, Session
from feedwatch.settings import Settings
from feedwatch.sink import CLOSE_SECONDS


class OwnCost:
    """What we cost the training thread: marks by calibration, everything rarer by the clock."""

    def __init__(self) -> None:
        self.ns_per_step = 0.0  # ops in a graph, callbacks that the framework calls: what the hook knows per step
        self.as_marks_per_step = 0  # what stands around the marks of a step, in marks: both grow with a slow machine
        self._spent_ns = 0.0
        self._marks = 0
        self._mark_ns: float | None = None

    def add(self, took_ns: float) -> None:
        """Something that was timed."""
        self._spent_ns += took_ns

    def add_marks(self, count: int, clock: Clock) -> None:
        if self._mark_ns is None:
            self._mark_ns = mark_cost_ns(clock)
        self._marks += count

    def of(self, steps: int) -> float | None:
        """Nanoseconds per step, or None before the first."""
        if not steps or self._mark_ns is None:
            return None
        around_ns = self.as_marks_per_step * self._mark_ns
        return self.ns_per_step + around_ns + (self._spent_ns + self._marks * self._mark_ns) / steps


class WatchedRun:
    """session · marks · undo · guard · destination · profiler windows · own cost."""

    opened: ClassVar[int] = 0  # in this process: whoever runs a script asks whether there was anything to watch

    def __init__(
        self,
        facts: RunFacts,
        settings: Settings,
        destination: Destination,
        reader: StepReader,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        WatchedRun.opened += 1
        began_ns = clock.now_ns()
        self.settings = settings
        self.destination = destination
        self.shown_directory = _as_a_user_names_it(destination.directory)
        # Every rank writes its report.json. Event files of several ranks in one run would be one tangled curve.
        outputs = destination.outputs if facts.rank == 0 else ()
        if settings.progress and facts.rank == 0:
            outputs = (*outputs, ProgressLine())
        self.session = Session.open(facts, settings, outputs, destination.directory, clock, reader=reader)
        self.session.ends = self.close
        self.guard = Guard(f"the {facts.framework} hook", self.session.note)
        self.guard.run(show_reports_in_notebooks)
        self.undo = Undo()
        self.cost = OwnCost()
        self.windows: ProfilerWindows | None = None
        self._windows_cost_ns: Callable[[], int] = int
        # On the training thread, with every hand-over: what only this thread may look at.
        self.on_hand_over: list[Callable[[], None]] = []
        # Before the last marks are handed over: what is still to be read from the user's objects.
        self.on_close: list[Callable[[], None]] = []
        # On the first rank, after the report is written: the user's own loggers. They get what is left of the seconds
        # that a run may take to end.
        self.on_closed: list[Callable[[Report, float], None]] = []
        self.marks = Marks(int(settings.window_seconds * 1e9), clock)
        self.append: Callable[[Mark], None] = self.marks.append
        self.now_ns = clock.now_ns
        # For the end, which comes also where the hook was switched off; one guard, because several hooks may end a run.
        self._ending = Guard("the end of the run", self.session.note)
        self._clock = clock
        self._reader = reader
        self._frozen = False
        self.session.each_window("what we cost", self._tell_own_cost)
        self._keeps_earlier = destination.directory is not None
        self.session.each_window("keeping the report of an earlier run", self._keep_earlier)
        self.session.own_startup(clock.now_ns() - began_ns)

    # -- marks -----------------------------------------------------------------------------------

    def mark(self, what: int, detail: Any = None) -> None:
        """For the rarer marks. In a step, append by hand: a function called there costs more than the mark."""
        self.append((self.now_ns(), what, detail))

    def due(self) -> bool:
        marks = self.marks
        return self.now_ns() >= marks.due_ns or len(marks.rows) >= marks.most

    def hand_over(self) -> None:
        """Never raises and never waits. When the hook is switched off its marks are thrown away."""
        began_ns = self.now_ns()
        log = self.marks.take()
        if self.guard.off or self._frozen:
            return
        for action in self.on_hand_over:
            self.guard.run(action)
        self.session.hand_over(log)
        self.cost.add_marks(len(log.marks), self._clock)
        self.cost.add(self.now_ns() - began_ns)

    def freeze(self) -> None:
        """From now on a trial runs: its steps are not the training's. Marks are still taken, and thrown away."""
        self.hand_over()
        self._frozen = True

    def _tell_own_cost(self) -> None:
        """On the sink's thread, which knows how many steps there were."""
        calls = self._reader.calls
        own_ns = self.cost.of(calls)
        if own_ns is not None:
            self.session.own_cost(own_ns + self._windows_cost_ns() / calls)

    def _keep_earlier(self) -> None:
        """On the sink's thread, before the first report of this run is written."""
        if self._keeps_earlier and self.directory is not None:
            self._keeps_earlier = False
            keep_earlier(self.directory, self.session.facts.run.rank)

    def time(self, owner: Any, name: str, category: int) -> None:
        """Time a method of somebody's object, on the instance, until the run is closed."""
        original, append, now_ns = getattr(owner, name), self.append, self.now_ns

        def timed(*args: Any, **named: Any) -> Any:
            append((now_ns(), ENTER, category))
            try:
                return original(*args, **named)
            finally:
                append((now_ns(), LEAVE, category))

        self.undo.set(owner, name, timed)

    def counts_memory(self, read: Callable[[], DeviceMemory | None] | None) -> None:
        """`read`: how much of the device's memory the framework itself uses. On the training thread, once per window.
        None: there is no such device, or its framework counts nothing.
        """
        if read is None:
            return
        ask = read

        def look() -> None:
            try:
                memory = ask()
            except Exception as error:  # a device that is lost has been spoken of
                memory = None
                self.session.note(f"the device's memory is not known: {told(error)}")
            self.session.counts_memory(memory)

        self.on_hand_over.append(look)

    # -- profiler windows ------------------------------------------------------------------------

    def profile_with(self, backend: ProfilerBackend, *, has_gpu: bool) -> ProfilerWindows:
        """Short windows of the framework's own profiler, for copies. They open and close on the training thread.

        `has_gpu`: there is a device whose copies nothing else can see.
        """
        run = self.session.facts.run
        windows = self.windows = ProfilerWindows(
            backend,
            choice=self.settings.profile,
            has_gpu=has_gpu,
            rank=run.rank,
            warmup_steps=self.settings.warmup_steps,
            note=self.session.note,
            touched=lambda: self.mark(PROFILED),
            in_question=self._copies_or_launches_bound_it,
        )

        self._windows_cost_ns = lambda: windows.cost_ns

        def collect() -> FactPatch | None:
            found = windows.collect()
            now = self.session.facts.run
            if windows.refused_because is not None and now.other_profiler is None:
                found = {**(found or {}), "run": replace(now, other_profiler=windows.refused_because)}
            return found

        self.session.each_window("profiler windows", collect)
        return windows

    def _copies_or_launches_bound_it(self) -> bool:
        latest = self.session.latest
        return latest is not None and latest.verdict.bound in (Bound.TRANSFER, Bound.LAUNCH)

    # -- the end ---------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        return self.session.closed

    @property
    def report(self) -> Report | None:
        return self.session.report

    @property
    def directory(self) -> Path | None:
        """Where report.json is."""
        return self.destination.directory

    def close(self, status: Status) -> None:
        """Idempotent, and never raises. Whatever fails on the way, the report is written."""
        if self.session.closed:
            return
        last = self._ending
        try:
            last.run(self.undo.all)
            if self.windows is not None:
                last.run(self.windows.close)
            for action in self.on_close:
                last.run(action)
            if status is not Status.FINISHED:
                self.mark(ABANDON)
            self.mark(EPOCH_END)
            self.guard.run(self.hand_over)
        finally:
            until_s = time.monotonic() + CLOSE_SECONDS
            # torch tells of a dead worker by raising in the main thread wherever it is, and it may be here.
            try:
                self.session.close(status)
            except Exception as error:
                last.run(self.session.close, status)
                last.failed(error)
            except BaseException:
                last.run(self.session.close, status)
                raise
        report = self.session.latest if self.on_closed or self.settings.console else None
        if report is not None and report.run.rank == 0:
            for told in self.on_closed:
                Guard("the end of the run").run(told, report, max(0.0, until_s - time.monotonic()))
            if self.settings.console:
                # Beside the other ranks: a slow one would look like compute here. Nobody waits for a rank.
                Guard("the console").run(self._print, self.session.beside_ranks)
        self.on_hand_over, self.on_close, self.on_closed = [], [], []  # nothing of ours keeps a model alive
        self.windows = None

    def _print(self, report: Report) -> None:
        """To stderr: a script's own output stays clean."""
        from rich.console import Console

        from feedwatch.report.console import print_summary

        print_summary(report, Console(stderr=True), self.shown_directory)


def _as_a_user_names_it(directory: Path | None) -> str:
    """`runs/a` for `runs/a/feedwatch`, where the report lies: commands take both."""
    if directory is None:
        return ""
    return str(directory.parent if directory.name == "feedwatch" else directory)


class Ranks(NamedTuple):
    rank: int
    world_size: int
    local_ranks: int  # on this machine


def ranks_of_launcher() -> Ranks:
    """As torchrun and every launcher after it set them."""
    found = {name: os.environ.get(name, "") for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")}
    rank, *sizes = (int(value) if value.isdecimal() else 0 for value in found.values())
    return Ranks(rank, *(max(1, size) for size in sizes))
