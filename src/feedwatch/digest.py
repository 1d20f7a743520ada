"""The sink thread's half of a session: marks become steps, windows, a verdict, findings and a written report."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.engine import advise
from feedwatch.diagnose.judge import judge
from feedwatch.diagnose.shares import with_sampled_copies
from feedwatch.guard import Guard
from feedwatch.measure.marks import Fetch, Log
from feedwatch.measure.run_so_far import RunSoFar
from feedwatch.measure.steps import StepReader
from feedwatch.measure.window import Piece, WindowCutter
from feedwatch.model.facts import Facts
from feedwatch.model.report import Report, Status
from feedwatch.model.steps import Window
from feedwatch.report.build import Ingredients, OwnCost, build
from feedwatch.report.json import write_report_file
from feedwatch.report.load import load_siblings
from feedwatch.report.markdown import render_markdown
from feedwatch.report.output import Output
from feedwatch.report.ranks import merge
from feedwatch.report.scalars import scalars

# The checksum of an event record is pure Python; a report every 30 s keeps its cost out of sight.
REPORT_SECONDS: Final = 30.0


class Digest:
    def __init__(
        self, outputs: Sequence[Output], directory: Path | None, reader: StepReader, windows: WindowCutter
    ) -> None:
        self.status = Status.RUNNING
        self.latest: Report | None = None
        self.own_ns_per_step: float | None = None  # on the training thread, as the hook says
        self.own_cpu_ns = 0  # on the sink's thread, while training ran
        self.reader = reader
        self.windows = windows
        self._so_far = RunSoFar()
        self._directory = directory
        self._outputs = [(output, Guard(f"writing to {type(output).__name__}")) for output in outputs]
        self._file_guard = Guard("writing report.json")
        self._reported_s = 0.0
        self._written_bound: str | None = None

    # -- marks to windows ------------------------------------------------------------------------

    def pieces(self, log: Log, rows: Iterable[Fetch]) -> Iterator[Piece]:
        """The windows that these marks complete."""
        for item in self.reader.read(log.marks, rows):
            if self.windows.add(item):
                yield from self._cut(log)
        if self.windows.full_enough():
            yield from self._cut(log)

    def last_piece(self, log: Log) -> Piece:
        """The rest of the run. It may hold no step: the last report is written all the same."""
        for item in self.reader.finish():
            self.windows.add(item)
        rest = list(self._cut(log))
        return rest[0] if rest else Piece([], [], log.ended_s, log.ended_ns, self.reader.dropped)

    def _cut(self, log: Log) -> Iterator[Piece]:
        piece = self.windows.cut(log.ended_s, log.ended_ns, self.reader.dropped)
        if piece is not None:
            yield piece

    # -- windows to reports ----------------------------------------------------------------------

    def take(self, piece: Piece, facts: Facts, dropped_windows: int) -> None:
        folded = self._so_far.add(piece)
        window = None if folded is None else with_sampled_copies(folded, facts)
        report = self._report(facts, dropped_windows, piece.ended_s)
        self.latest = report
        self._write(report, window, piece)

    def close(self) -> None:
        for output, guard in self._outputs:
            guard.run(output.close)

    def _report(self, facts: Facts, dropped_windows: int, now_s: float) -> Report:
        measured = self._so_far.run()
        run = None if measured is None else with_sampled_copies(measured, facts)
        tracing_ns = self.reader.tracing_ns
        startup = self._so_far.startup(None if tracing_ns is None else tracing_ns / 1e6)
        boundaries = self._so_far.boundaries()
        verdict = judge(run, facts)
        case = Case(verdict, run, facts, startup, boundaries, self._so_far.counts)
        return build(
            Ingredients(
                status=self.status,
                case=case,
                advice=advise(case),
                series=self._so_far.history.series(),
                own=OwnCost(
                    ns_per_step=self.own_ns_per_step,
                    sink_cpu_ns=self.own_cpu_ns,
                    dropped_windows=dropped_windows,
                ),
                now_s=now_s,
            )
        )

    def _write(self, report: Report, window: Window | None, piece: Piece) -> None:
        step = report.series.step[-1] if report.series.step else 0
        ending = report.status is not Status.RUNNING
        changed = report.verdict.bound.value != self._written_bound
        due = ending or changed or piece.ended_s - self._reported_s >= REPORT_SECONDS or bool(piece.epochs)
        shown = self._beside_other_ranks(report) if due else report
        for output, guard in self._outputs:
            if window is not None:
                guard.run(output.scalars, window.last_step, scalars(window, report.self_cost), piece.ended_s)
            if ending or changed:
                guard.run(output.advice, step, render_markdown(report), piece.ended_s)
            if due:
                guard.run(output.report, step, shown, piece.ended_s)
            guard.run(output.flush)
        if self._directory is not None and due:
            self._file_guard.run(write_report_file, self._directory, report)
        if due:
            self._reported_s = piece.ended_s
            self._written_bound = report.verdict.bound.value

    def _beside_other_ranks(self, report: Report) -> Report:
        """The tab reads event files, and only the first rank writes one: it looks at the others' report files.

        No collective and no waiting: a rank that has not written yet is missing, and the report says so.
        """
        if self._directory is None or report.run.world_size < 2 or not self._outputs:
            return report
        siblings = self._file_guard.run(load_siblings, self._directory, report)
        return merge([report, *siblings]) if siblings else report
