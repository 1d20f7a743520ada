"""A watched run that becomes a trial: it trains normally for a while, then variants of its input take turns.

    trial = TrialRun(run, wish)
    if trial.due():                       # between two steps: the run has shown enough of itself
        trial.begin(plan)                 # the figures so far stay as they are; a `Plan` says what is tried
    batch = trial.next()                  # instead of the user's own next(); raises TrialOver at the end

However the run ends, what is known by then goes into its report.
"""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from feedwatch.guard import Guard
from feedwatch.hooks.resting import wait_for_rest
from feedwatch.hooks.run import WatchedRun
from feedwatch.hooks.sources import Again, Batches
from feedwatch.hooks.unsaved import keep_unsaved
from feedwatch.model.facts import HostFacts
from feedwatch.model.report import Report, Status
from feedwatch.model.trial import Ended, Role, Span, TrialSection
from feedwatch.model.verdict import Fix
from feedwatch.settings import TrialWish
from feedwatch.trial.board import Board, Source, TrialOver
from feedwatch.trial.compare import FLOOR
from feedwatch.trial.schedule import Trial
from feedwatch.trial.search import ListSearch, Search
from feedwatch.trial.variant import AS_IS, Variant
from feedwatch.words import count, seconds

FIRST_LINE: Final = (
    "feedwatch: this run is a trial. It measures your training with its input changed; its weights are thrown away,"
    " and nothing of yours is written."
)
SEVERAL_RANKS: Final = "a trial changes the input of one process: start it with one rank"
# The run as it is, before anything is changed: its warm-up and one window, and enough steps to judge.
LEAST_STEPS: Final = 12
LEAST_WINDOWS: Final = 1.5
# What a person is willing to wait for the report on which the trial builds.
REPORT_SECONDS: Final = 3.0
# CPUs in use by others from which on they are worth a word, and what they add to what cannot be told apart.
NEIGHBOURS: Final = 0.3
NEIGHBOURS_FLOOR: Final = 0.02
TICK_NS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Plan:
    """What is tried, and how it is made."""

    search: Search
    open_source: Callable[[Variant], Source]  # may raise Refused
    fix: Callable[[Variant], Fix | None]  # the variant as an edit of the user's own call
    as_is: Variant = AS_IS
    epoch_batches: int | None = None
    settle: Callable[[], None] = lambda: None
    later: bool = False  # sources hand out iterators, and the step fetches
    notes: tuple[str, ...] = ()


def only_as_it_is(source: Batches, why: str) -> Plan:
    """Nothing of it can be changed: it is measured as it is, beside its ceiling."""

    def open_source(variant: Variant) -> Source:
        return Again(source.last) if variant.role is Role.CEILING else source

    return Plan(ListSearch([], lambda helped: helped[0]), open_source, lambda _: None, notes=(why,))


def trial_home(wish: TrialWish, usual: Path | None) -> Path:
    """A directory of its own: the report of an earlier run stays where it is."""
    if wish.directory is not None:
        return Path(wish.directory)
    if usual is not None:
        return usual.with_name(f"{usual.name}-trial")
    return Path("runs") / time.strftime("trial-%Y%m%d-%H%M%S")


class TrialRun:
    def __init__(self, run: WatchedRun, wish: TrialWish) -> None:
        self._run, self._wish = run, wish
        self._steps = 0
        self._steady_ns: int | None = None
        self.board: Board | None = None
        self._trial: Trial | None = None
        self._fix: Callable[[Variant], Fix | None] = lambda _: None
        self._screen = Screen(wish.seconds, run.settings.console)
        self._ended: Ended | None = None
        run.on_close.insert(0, self._closing)
        # `feedwatch try` owns the process; a notebook goes on behind its cell.
        keep_unsaved(run.undo if wish.directory is None else None, run.session.note)
        if run.session.facts.run.rank == 0:
            self._screen.say(FIRST_LINE)

    # -- before it begins ------------------------------------------------------------------------

    def due(self, *, data_ends: bool = False) -> bool:
        """After every step. `data_ends`: the epoch is over, and what comes behind it is not to happen in a trial."""
        run = self._run
        self._steps += 1
        if self._steps <= run.settings.warmup_steps:
            return data_ends
        now_ns = run.now_ns()
        if self._steady_ns is None:
            self._steady_ns = now_ns
        long = now_ns - self._steady_ns >= LEAST_WINDOWS * run.settings.window_seconds * 1e9
        return data_ends or (long and self._steps >= LEAST_STEPS)

    def report(self) -> Report | None:
        """Of the run as it is, frozen: what follows does not count as training."""
        run = self._run
        before = run.session.latest
        run.session.judge_what_comes()
        run.freeze()
        until_s = time.monotonic() + REPORT_SECONDS
        while run.session.latest is before and time.monotonic() < until_s:
            time.sleep(0.01)
        run.session.freeze()
        return run.session.latest

    def begin(self, make: Callable[[Report | None], Plan]) -> None:
        """`make` may raise: the trial then ends at once, and says why."""
        if self._run.session.facts.run.world_size > 1:
            self._give_up(SEVERAL_RANKS)
        report = self.report()
        try:
            plan = make(report)
        except Exception as error:
            Guard("making variants", self._run.session.note).failed(error)
            self._give_up(f"no variant could be made: {type(error).__name__}: {error}")
            return
        host = self._run.session.facts.host
        others = neighbours(host)
        self._trial = trial = Trial(
            plan.search,
            self._wish.seconds,
            as_is=plan.as_is,
            epoch_seconds=_epoch_seconds(plan, report),
            predicted={} if report is None else _predicted(report),
            floor=FLOOR + NEIGHBOURS_FLOOR * others,
        )
        trial.notes += plan.notes
        if others >= NEIGHBOURS:
            trial.notes.append(f"other processes used {count(others, 'CPU')} meanwhile: the intervals are wider for it")
        self._fix = plan.fix
        trial.on_block = lambda: self._screen.show(trial.section(self._run.now_ns()), None)
        self.board = Board(trial, plan.open_source, self._run.now_ns, plan.settle, rest=wait_for_rest, later=plan.later)
        self._screen.open()

    # -- while it runs ---------------------------------------------------------------------------

    def next(self) -> Any:
        assert self.board is not None
        assert self._trial is not None
        try:
            batch = self.board.next()
        except TrialOver:
            self.end()
            raise
        self._screen.tick(self._run.now_ns(), self._trial)
        return batch

    def pause(self) -> None:
        if self.board is not None:
            self.board.pause()

    # -- the end ---------------------------------------------------------------------------------

    def end(self, ended: Ended = Ended.TRAINING_ENDED) -> None:
        """The trial is over, or the training was: the report is written and shown."""
        self._finish(ended)
        self._run.close(Status.FINISHED)

    def over(self) -> None:
        """The same, and the script ends."""
        self.end()
        raise TrialOver(0)

    def _give_up(self, why: str) -> None:
        self._run.session.update(trial=TrialSection(Ended.NOT_BEGUN, 0.0, notes=(why,)))
        self._ended = Ended.NOT_BEGUN
        self._run.close(Status.FINISHED)
        raise TrialOver(0)

    def _closing(self) -> None:
        """On every way out; after `end` there is nothing left to do."""
        self._finish(Ended.INTERRUPTED)

    def _finish(self, ended: Ended) -> None:
        if self._ended is not None:
            return
        self._ended = ended
        self._screen.close()
        if self._trial is None:
            said = "training ended before the trial began: give it more steps or longer epochs"
            self._run.session.update(trial=TrialSection(Ended.NOT_BEGUN, 0.0, notes=(said,)))
            return
        self._trial.finish(ended)
        section = self._trial.section(self._run.now_ns())
        picked = self._trial.picked
        if picked is not None:
            section = replace(section, fix=Guard("the snippet", self._run.session.note).run(self._fix, picked))
        self._run.session.update(trial=section)
        if self.board is not None:
            self.board.close()


def neighbours(host: HostFacts) -> float:
    """CPUs that other processes used, as far as the run's own figures tell."""
    if host.machine_cpu_share is None or host.cpu_used is None:
        return 0.0
    return max(0.0, host.machine_cpu_share * float(os.cpu_count() or 1) - host.cpu_used)


def _epoch_seconds(plan: Plan, report: Report | None) -> float | None:
    step_ms = None if report is None else report.verdict.step_ms
    if plan.epoch_batches is None or step_ms is None:
        return None
    return plan.epoch_batches * step_ms / 1e3


def _predicted(report: Report) -> dict[str, Span]:
    return {each.code: Span(each.gain.low, each.gain.high) for each in report.findings if each.gain is not None}


class Screen:
    """The table as it grows. The script's own output is silent meanwhile: it would tear the table apart."""

    def __init__(self, seconds_s: float, console: bool) -> None:
        self._seconds, self._on = seconds_s, console
        self._live: Any = None
        self._stdout: Any = None
        self._section: TrialSection | None = None
        self._next_ns = 0

    def say(self, text: str) -> None:
        if self._on:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    def open(self) -> None:
        if not self._on:
            return
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True)
        self.say(f"feedwatch: the trial takes over for at most {seconds(self._seconds)}")
        if console.is_terminal:
            self._live = Live(console=console, auto_refresh=False, transient=True)
            self._live.start()
        self._stdout, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123

    def show(self, section: TrialSection, current: str | None, spent_s: float = 0.0) -> None:
        self._section = section
        if self._live is not None:
            from feedwatch.report.trial import live_view

            self._live.update(live_view(section, current, spent_s or section.seconds, self._seconds), refresh=True)

    def tick(self, now_ns: int, trial: Trial) -> None:
        """About once a second: drawing takes milliseconds, and every variant pays the same."""
        if self._live is not None and now_ns >= self._next_ns:
            self._next_ns = now_ns + TICK_NS
            current = trial.current
            self.show(trial.section(now_ns), None if current is None else current.name, trial.spent_s(now_ns))

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        if self._stdout is not None:
            sys.stdout.close()
            sys.stdout, self._stdout = self._stdout, None
