"""The sink thread's half of a session: marks become steps, windows, a verdict, findings and a written report."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from feedwatch.advise.case import Case
from feedwatch.advise.engine import advise
from feedwatch.advise.measured import with_measured
from feedwatch.advise.supply import supply
from feedwatch.diagnose.judge import judge
from feedwatch.diagnose.shares import exposed_ms_per_step, with_sampled_copies
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.guard import Guard, Retry
from feedwatch.measure.clock import SYSTEM_CLOCK, Clock
from feedwatch.measure.marks import Fetch, Log
from feedwatch.measure.run_so_far import RunSoFar
from feedwatch.measure.steps import StepReader
from feedwatch.measure.timeline import Timeline
from feedwatch.measure.window import Piece, WindowCutter
from feedwatch.model.account import Account
from feedwatch.model.facts import Facts
from feedwatch.model.report import Report, Status
from feedwatch.model.steps import Window
from feedwatch.model.verdict import Finding
from feedwatch.report.build import Ingredients, OwnCost, build
from feedwatch.report.json import write_report_file
from feedwatch.report.lanes import with_loading
from feedwatch.report.load import load_siblings
from feedwatch.report.markdown import render_markdown
from feedwatch.report.output import Output
from feedwatch.report.ranks import beside
from feedwatch.report.scalars import scalars
from feedwatch.words import count, ms

Made = TypeVar("Made")

# A report is about 9 kB in the event file, a point of the curves 0.3 kB. One report every 30 s and a point per second
# are 2 MB an hour. The tab calls a run silent after three reports that did not come (tab/static/status.js).
REPORT_SECONDS: Final = 30.0
POINT_SECONDS: Final = 1.0
# From this age on both become rarer, in proportion to the run's age: 50 MB last for a hundred days.
STEADY_SECONDS: Final = 3 * 3600.0
# A verdict that changes is written early, and windows may be shorter than a second. Neither may go on for ever.
EARLY_REPORTS: Final = 10
EARLY_REPORT_SECONDS: Final = 120.0
POINTS_AT_ONCE: Final = 600
# The curves wait for a slow disk as long as this, and then for the next time: the next report matters more.
MAX_POINTS_NS: Final = 1_000_000_000
# Judging the whole run takes 3 to 6 ms (measured), in which no other Python code runs: every second that would be most
# of what a run may lose to us. A thousandth of the run is a judgement every few seconds, soon enough for a person who
# looks on. Reports that are due, the last one among them, are always judged.
JUDGING_SHARE: Final = 0.001
# One step that takes this much of all measured time is no training step.
LONGEST_STEP_SHARE: Final = 0.3


def seconds_between(every_s: float, age_s: float) -> float:
    """How long to wait before the next one is written, in a run of that age."""
    return every_s * max(1.0, age_s / STEADY_SECONDS)


class Allowance:
    """Some at once, then one every so many seconds."""

    def __init__(self, every_s: float, at_once: int) -> None:
        self._every_s = every_s
        self._most = self._left = float(at_once)
        self._seen_s = 0.0

    def take(self, age_s: float) -> bool:
        earned = max(0.0, age_s - self._seen_s) / seconds_between(self._every_s, age_s)
        self._left = min(self._most, self._left + earned)
        self._seen_s = age_s
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class Budget:
    """Work that is wanted often and may be dear: it is done again when what it took last time is its share of the time
    since. The first time loads code, and says nothing of the others.
    """

    def __init__(self, share: float, clock: Clock) -> None:
        self._share, self._clock = share, clock
        self._times = 0
        self._again_s = 0.0

    def allows(self, age_s: float) -> bool:
        return age_s >= self._again_s

    def spend(self, work: Callable[[], Made], age_s: float) -> Made:
        began_ns = self._clock.cpu_ns()
        made = work()
        self._times += 1
        if self._times > 1:
            self._again_s = age_s + (self._clock.cpu_ns() - began_ns) / 1e9 / self._share
        return made


class Place:
    """Somewhere to write, and what could not be written there."""

    def __init__(self, part: str, clock: Clock) -> None:
        self.retry = Retry(f"writing {part}", clock.now_ns)
        self.lost_points = 0
        self.lost_reports = 0

    def note(self) -> str | None:
        lost = [(self.lost_points, "point"), (self.lost_reports, "report")]
        said = " and ".join(count(number, noun) for number, noun in lost if number)
        because = self.retry.because or "the disk is slow"
        return f"{self.retry.part} failed for {said} ({because})" if said else None


class Point(NamedTuple):
    """One window on the curves."""

    step: int
    values: dict[str, float]
    ended_s: float


class Writing(NamedTuple):
    """What every output is given."""

    step: int
    now_s: float
    points: list[Point]
    advice: str | None
    report: Report | None


class Fresh(NamedTuple):
    """A window that was folded and is not written yet."""

    window: Window | None
    ended_s: float


class Digest:
    def __init__(
        self,
        outputs: Sequence[Output],
        directory: Path | None,
        reader: StepReader,
        windows: WindowCutter,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.status = Status.RUNNING
        self.latest: Report | None = None
        self.beside_ranks: Report | None = None  # the last one that was written, with what the other ranks had written
        self.own_ns_per_step: float | None = None  # on the training thread, as the hook says
        self.own_startup_ns: int | None = None
        self.closing_since_ns: int | None = None  # from then on the end of training waits for the last report
        self.own_cpu_ns = 0  # on the sink's thread, while training ran
        self.reader = reader
        self.windows = windows
        self.timeline = Timeline(reader)
        self._so_far = RunSoFar()
        self._fresh: list[Fresh] = []
        self._directory = directory
        self._outputs = [(output, Place(f"to {type(output).__name__}", clock)) for output in outputs]
        self._file = Place("report.json", clock)
        self._advice_guard = Guard("the advice")
        self._timeline_guard = Guard("the timeline of single steps")
        self._ranks_guard = Guard("reading the other ranks' reports")
        # The monotonic clock decides what is due: the wall clock may be set back by an hour.
        self._clock = clock
        self._began_ns = clock.now_ns()
        self._reported_s = 0.0  # the run's age at the last report
        self._ended = False
        self._written_bound: str | None = None
        self._early_reports = Allowance(EARLY_REPORT_SECONDS, EARLY_REPORTS)
        self._points = Allowance(POINT_SECONDS, POINTS_AT_ONCE)
        self._judging = Budget(JUDGING_SHARE, clock)
        self.judges_everything = False  # somebody waits for what comes next to be in `latest`

    # -- marks to windows ------------------------------------------------------------------------

    def pieces(self, log: Log, rows: Iterable[Fetch]) -> Iterator[Piece]:
        """The windows that these marks complete. The last one takes what is left over: what stays behind here would be
        lost if the process were killed now.
        """
        held: Piece | None = None
        for known in self.reader.stretches(log.marks, rows):
            left = known
            while left:
                left = left[self.windows.add_some(left) :]
                if self.windows.full():
                    if held is not None:
                        yield held
                    held = self._cut(log)
        if self.windows.full_enough():
            rest = self._cut(log)
            if held is not None:
                yield held
            held = rest
        elif held is not None:
            held = _joined(held, self._cut(log))
        if held is not None:
            yield held

    def last_piece(self, log: Log) -> Piece:
        """The rest of the run. It may hold no step: the last report is written all the same."""
        for item in self.reader.finish():
            self.windows.add(item)
        return self._cut(log) or Piece([], [], log.ended_s, log.ended_ns, self.reader.dropped)

    def _cut(self, log: Log) -> Piece | None:
        return self.windows.cut(log.ended_s, log.ended_ns, self.reader.dropped)

    def take(self, piece: Piece) -> None:
        """Fold one window. Nothing is written before `write`."""
        self._fresh.append(Fresh(self._so_far.add(piece), piece.ended_s))

    # -- windows to reports ----------------------------------------------------------------------

    def write(self, facts: Facts, dropped_windows: int) -> None:
        """The windows since the last time, and a report where one is due."""
        fresh, self._fresh = self._fresh, []
        age_s = (self._clock.now_ns() - self._began_ns) / 1e9
        overdue = age_s - self._reported_s >= seconds_between(REPORT_SECONDS, age_s)
        ending = self.status is not Status.RUNNING
        if self._ended or not (fresh or overdue or ending):
            return
        now_s = fresh[-1].ended_s if fresh else self._clock.wall_s()
        report, judged = self.latest, ending or overdue or self.judges_everything or self._judging.allows(age_s)
        if report is None or judged:
            report = self._judging.spend(lambda: self._report(facts, dropped_windows, now_s), age_s)
            self.latest = report
        changed = report.verdict.bound.value != self._written_bound
        due = ending or overdue or (judged and changed and self._early_reports.take(age_s))
        if due:
            self._reported_s, self._written_bound = age_s, report.verdict.bound.value
            report = self.latest = self._with_timeline(report, facts)
            # report.json comes first: a disk that stalls in the event file must not cost the last report.
            self._write_file(report)
        points = [
            Point(window.last_step, scalars(with_sampled_copies(window, facts), report.self_cost), ended_s)
            for window, ended_s in fresh
            if window is not None and self._points.take(age_s)
        ]
        if due:
            self.beside_ranks = self._beside_other_ranks(report)
        writing = Writing(
            step=report.series.step[-1] if report.series.step else 0,
            now_s=now_s,
            points=points,
            advice=render_markdown(report) if ending or (due and changed) else None,
            report=self.beside_ranks if due else None,
        )
        for output, place in self._outputs:
            self._write_to(output, place, writing)
        self._ended = ending

    def see(self, log: Log, rows: Iterable[Fetch], pieces: Sequence[Piece]) -> None:
        """Keep the marks of the steps that the report shows one by one."""
        self._timeline_guard.run(self.timeline.see, log.marks, rows, pieces)

    def _with_timeline(self, report: Report, facts: Facts) -> Report:
        """Only into reports that are written: reading steps a second time takes a millisecond."""
        section = self._timeline_guard.run(self.timeline.section)
        return report if section is None else replace(report, timeline=with_loading(section, facts.pipeline))

    def _write_file(self, report: Report) -> None:
        if self._directory is None:
            return
        if self.status is not Status.RUNNING:
            self._file.retry.at_once()
        self._file.lost_reports += not self._file.retry.attempt(write_report_file, self._directory, report)

    def _write_to(self, output: Output, place: Place, writing: Writing) -> None:
        attempt, step, now_s = place.retry.attempt, writing.step, writing.now_s
        if self.status is not Status.RUNNING:
            place.retry.at_once()
        until_ns = self._clock.now_ns() + MAX_POINTS_NS
        for point in writing.points:
            in_time = self._clock.now_ns() < until_ns
            place.lost_points += not (in_time and attempt(output.scalars, *point))
        if writing.advice is not None:
            attempt(output.advice, step, writing.advice, now_s)
        if writing.report is not None:
            place.lost_reports += not attempt(output.report, step, writing.report, now_s)
        attempt(output.flush)
        if self.status is not Status.RUNNING:
            place.retry.at_once()
            attempt(output.close)

    def _report(self, facts: Facts, dropped_windows: int, now_s: float) -> Report:
        measured = self._so_far.run()
        run = None if measured is None else with_sampled_copies(measured, facts)
        tracing_ns = self.reader.tracing_ns
        startup = self._so_far.startup(None if tracing_ns is None else tracing_ns / 1e6)
        boundaries = self._so_far.boundaries()
        account = self._account(run, facts)
        case = Case(judge(run, facts, account), run, facts, startup, boundaries, self._so_far.counts, account)
        known = supply(case)
        if known is not None and known.usable:
            case = replace(case, verdict=judge(run, facts, account, known.ceiling))
        return build(
            Ingredients(
                status=self.status,
                case=case,
                # What fails here must not cost the report: it is written without advice, and says so.
                findings=self._advice_guard.run(self._advise, case) or (),
                supply=known,
                series=self._so_far.history.series(),
                own=OwnCost(
                    ns_per_step=self.own_ns_per_step,
                    sink_cpu_ns=self.own_cpu_ns,
                    dropped_windows=dropped_windows,
                    startup_ns=self._own_once_ns(),
                    notes=tuple(self._notes(run)),
                ),
                now_s=now_s,
            )
        )

    def _own_once_ns(self) -> int | None:
        if self.closing_since_ns is None:
            return self.own_startup_ns
        return (self.own_startup_ns or 0) + self._clock.now_ns() - self.closing_since_ns

    def _advise(self, case: Case) -> tuple[Finding, ...]:
        return with_measured(advise(case), case.facts.trial)

    def _account(self, run: Window | None, facts: Facts) -> Account | None:
        account, copy_ms = self._so_far.account(), exposed_ms_per_step(facts)
        if account is None or run is None or copy_ms is None:
            return account
        return account.with_copies(copy_ms, run.steps / max(1, run.batches))

    def _notes(self, run: Window | None) -> Iterator[str]:
        """What is wrong with the figures or was not written. These notes hold numbers that grow, so each report has
        its own.
        """
        distrusted = self._so_far.counts.distrusted
        if distrusted:
            yield f"{count(distrusted, 'step')} left out: the machine slept, or its clock was set, while they ran"
        longest_ns = self._so_far.longest_step_ns
        if (
            run is not None
            and run.steps >= THRESHOLDS.min_steady_steps
            and longest_ns > LONGEST_STEP_SHARE * run.wall_ns
        ):
            yield (
                f"one step took {ms(longest_ns / 1e6)} of the {ms(run.wall_ns / 1e6)} measured: "
                "the process stood still, or the clock jumped"
            )
        for place in (self._file, *(place for _, place in self._outputs)):
            note = place.note()
            if note is not None:
                yield note

    def _beside_other_ranks(self, report: Report) -> Report:
        """The tab reads event files, and the first rank prints: who does either looks at the others' report files.

        No collective and no waiting: a rank that has not written yet is missing, and the report says so.
        """
        shown = self._outputs or report.run.rank == 0
        if self._directory is None or report.run.world_size < 2 or not shown:
            return report
        siblings = self._ranks_guard.run(load_siblings, self._directory, report)
        return beside(report, siblings or [])


def _joined(window: Piece, rest: Piece | None) -> Piece:
    if rest is None:
        return window
    return rest._replace(
        records=window.records + rest.records, gaps=window.gaps + rest.gaps, epochs=window.epochs + rest.epochs
    )
