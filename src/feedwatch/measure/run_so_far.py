"""The whole run so far, in memory that does not depend on its length."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from feedwatch.measure.sketch import Sketch
from feedwatch.measure.window import Columns, Piece, columns, fold
from feedwatch.model.account import EPOCH_START, GAP, VALIDATION, Account
from feedwatch.model.report import Mark, SeriesSection
from feedwatch.model.steps import (
    COMPUTE,
    H2D,
    INPUT_WAIT,
    OTHER,
    PHASES,
    Clumps,
    Counts,
    EpochBoundaries,
    EpochGap,
    PhaseTime,
    Startup,
    StepKind,
    StepRecord,
    Window,
)

# The monotonic clock stops while a machine sleeps, the wall clock does not: more than this apart is a suspend.
SUSPEND_NS: Final = 2_000_000_000
# The curve that a report shows: when it has more points than this, neighbours are merged.
MAX_POINTS: Final = 400
MAX_MARKS: Final = 60
# A short run has a course too: a window is divided while there are few points, into parts of two rounds of workers.
FEW_POINTS: Final = 16
MOST_PARTS: Final = 4
LEAST_STEPS: Final = 8


@dataclass(slots=True)
class _Total:
    """One phase over all trusted steady steps."""

    sketch: Sketch = field(default_factory=Sketch)
    known: bool = True

    def add(self, values_ns: Sequence[int] | None) -> None:
        if values_ns is None:
            self.known = False
        else:
            self.sketch.add_all(values_ns)

    def time(self) -> PhaseTime | None:
        if not self.known or not self.sketch.count:
            return None
        quick_ns, median_ns, p95_ns = (self.sketch.quantile(share) or 0.0 for share in (0.05, 0.5, 0.95))
        return PhaseTime(self.sketch.total, median_ns, p95_ns, quick_ns)


class _Ledger:
    """Wall time by part, from the first steady step on."""

    def __init__(self) -> None:
        self.open = False  # a steady step has been seen
        self.batches = self.epochs = self.wall_ns = 0
        self.starved_ns: int | None = 0
        self._parts_ns: dict[str, int | None] = dict.fromkeys((INPUT_WAIT, H2D, COMPUTE), 0)
        self._aside_ns = dict.fromkeys((EPOCH_START, VALIDATION, GAP), 0)
        self._epoch_step: int | None = None
        self._epoch_lengths = self._epoch_batches = 0

    def epoch_began(self, step: int) -> None:
        """The distance between two epoch starts is an epoch, whatever was measured in it."""
        if self._epoch_step is not None and step > self._epoch_step:
            self._epoch_lengths += 1
            self._epoch_batches += step - self._epoch_step
        self._epoch_step = step

    def steady(self, steps: Columns) -> None:
        self._step(sum(steps.wall_ns), steps.batches)
        for part, values_ns in (
            (INPUT_WAIT, steps.input_wait_ns),
            (H2D, steps.h2d_ns),
            (COMPUTE, steps.compute_ns),
        ):
            self._parts_ns[part] = _sum(self._parts_ns[part], _total(values_ns))
        self.starved_ns = _sum(self.starved_ns, _total(steps.starved_ns))

    def epoch_first(self, record: StepRecord) -> None:
        """The first wait of an epoch is what its start costs, not what a usual step waits."""
        self.epochs += 1
        self._step(record.wall_ns, record.batches)
        self._aside_ns[EPOCH_START] += record.input_wait_ns or 0
        for part, value_ns in ((H2D, record.h2d_ns), (COMPUTE, record.compute_ns)):
            self._parts_ns[part] = _sum(self._parts_ns[part], value_ns)

    def gap(self, gap: EpochGap) -> None:
        if not self.open:
            return
        started_ns = min(max(0, gap.loader_start_ns or 0), max(0, gap.wall_ns))
        self.wall_ns += max(0, gap.wall_ns) + (gap.validation_ns or 0)
        self._aside_ns[EPOCH_START] += started_ns
        self._aside_ns[VALIDATION] += gap.validation_ns or 0
        self._aside_ns[GAP] += max(0, gap.wall_ns) - started_ns

    def _step(self, wall_ns: int, batches: int) -> None:
        self.open = True
        self.wall_ns += wall_ns
        self.batches += batches

    def account(self) -> Account | None:
        if not self.batches or self.wall_ns <= 0:
            return None
        claimed_ns = sum(value or 0 for value in self._parts_ns.values()) + sum(self._aside_ns.values())
        parts_ns = self._parts_ns | {OTHER: max(0, self.wall_ns - claimed_ns)} | self._aside_ns
        epoch_batches = self._epoch_batches / self._epoch_lengths if self._epoch_lengths else None
        return Account(self.batches, self.epochs, self.wall_ns, parts_ns, self.starved_ns, epoch_batches)


class RunSoFar:
    """Feed it the pieces of windows; ask it for the window just folded and for the run as one window."""

    def __init__(self) -> None:
        self.history = History()
        self.counts = Counts(samples=0)
        self.longest_step_ns = 0  # of the trusted steady ones
        self._step = _Total()
        self._phases = {name: _Total() for name in PHASES}
        self._starved = _Total()
        self._clumps: Clumps | None = None
        self._first_step: int | None = None
        self._last_step = 0
        self._steady_batches = 0
        self._steady_samples: int | None = 0
        self._first_step_ms: float | None = None
        self._ledger = _Ledger()
        self._last_clocks: tuple[float, int] | None = None
        self._gap_ns, self._loader_start_ns, self._first_fetch_ns = Sketch(), Sketch(), Sketch()
        self._wall_ns = 0  # steps of every kind and gaps: what an epoch boundary is a share of

    def add(self, piece: Piece) -> Window | None:
        """The window of this slice, or None when it held no step."""
        for step, label in piece.epochs:
            self.history.mark(step, label)
            self._ledger.epoch_began(step)
        for gap in piece.gaps:
            self._add_gap(gap)
        self.counts = replace(self.counts, lost=piece.dropped, wall_s=self._wall_ns / 1e9)
        if not piece.records:
            return None
        steps = columns(piece.records)
        self.history.add(steps)
        self._count(steps)
        if steps.kind.count(StepKind.STEADY) < len(steps):
            return self._add_mixed(piece, steps)
        return self._add_window(piece, steps)

    def run(self) -> Window | None:
        """All trusted steady steps as one window."""
        step = self._step.time()
        if step is None:
            return None
        starved = self._starved.time()
        return Window(
            first_step=self._first_step or 0,
            last_step=self._last_step,
            steps=self.counts.measured,
            batches=self._steady_batches,
            samples=self._steady_samples,
            wall_ns=step.total_ns,
            step=step,
            phases={name: total.time() for name, total in self._phases.items()},
            starved_ns=None if starved is None else starved.total_ns,
            clumps=self._clumps,
        )

    def account(self) -> Account | None:
        return self._ledger.account()

    def startup(self, tracing_ms: float | None = None) -> Startup:
        return Startup(self._first_step_ms, tracing_ms)

    def boundaries(self) -> EpochBoundaries:
        """The gap itself plus what the first fetch of an epoch took longer than the usual one."""
        count = max(self._gap_ns.count, self._first_fetch_ns.count)
        if not count:
            return EpochBoundaries()
        waits = self._phases[INPUT_WAIT].time()
        usual_ns = 0.0 if waits is None else waits.median_ns
        first, gaps = self._first_fetch_ns, self._gap_ns
        excess_ns = max(0.0, (first.quantile(0.5) or 0.0) - usual_ns)
        all_ns = gaps.total + max(0.0, first.total - usual_ns * first.count)
        return EpochBoundaries(
            count=count,
            median_ms=((gaps.quantile(0.5) or 0.0) + excess_ns) / 1e6,
            share=min(1.0, all_ns / self._wall_ns) if self._wall_ns else None,
            loader_start_ms=_ms(self._loader_start_ns.quantile(0.5)),
            # The mean: what a run pays for its epochs is their sum, and some are four times as slow as others.
            first_fetch_ms=_ms(first.total / first.count if first.count else None),
        )

    def _add_mixed(self, piece: Piece, steps: Columns) -> Window:
        """Warm-up and the first steps of epochs are in the history, but not in the window."""
        for record in piece.records:
            if record.kind is StepKind.EPOCH_FIRST and record.input_wait_ns is not None:
                self._first_fetch_ns.add(record.input_wait_ns)
            if record.kind is StepKind.EPOCH_FIRST and self._ledger.open:
                self._ledger.epoch_first(record)
        steady = [record for record in piece.records if record.kind is StepKind.STEADY]
        if not steady:
            return fold(steps, piece.ended_s, ("warm-up",))
        return self._add_window(piece, columns(steady))

    def _add_window(self, piece: Piece, steady: Columns) -> Window:
        window = fold(steady, piece.ended_s, self._suspended(piece))
        if window.trusted:
            self._add_trusted(steady, window)
        else:
            self.counts = replace(self.counts, distrusted=self.counts.distrusted + len(steady))
        return window

    def _add_trusted(self, steady: Columns, window: Window) -> None:
        self.counts = replace(self.counts, measured=self.counts.measured + len(steady))
        if self._first_step is None:
            self._first_step = window.first_step
        self._last_step = window.last_step
        self.longest_step_ns = max(self.longest_step_ns, *steady.wall_ns)
        self._steady_batches += steady.batches
        self._steady_samples = _plus(self._steady_samples, steady.samples)
        self._step.add(steady.wall_ns)
        self._phases[INPUT_WAIT].add(steady.input_wait_ns)
        self._phases[H2D].add(steady.h2d_ns)
        self._phases[COMPUTE].add(steady.compute_ns)
        self._phases[OTHER].add(steady.other_ns)
        self._starved.add(steady.starved_ns)
        self._clumps = _join(self._clumps, window.clumps)
        self._ledger.steady(steady)

    def _add_gap(self, gap: EpochGap) -> None:
        self._gap_ns.add(gap.wall_ns)
        self._ledger.gap(gap)
        self._wall_ns += max(0, gap.wall_ns)
        if gap.loader_start_ns is not None:
            self._loader_start_ns.add(gap.loader_start_ns)

    def _count(self, steps: Columns) -> None:
        if self._first_step_ms is None:
            self._first_step_ms = steps.wall_ns[0] / 1e6
        self._wall_ns += sum(steps.wall_ns)
        counts = self.counts
        self.counts = replace(
            counts,
            warmup=counts.warmup + steps.kind.count(StepKind.WARMUP),
            batches=counts.batches + steps.batches,
            samples=_plus(counts.samples, steps.samples),
            wall_s=self._wall_ns / 1e9,
        )

    def _suspended(self, piece: Piece) -> tuple[str, ...]:
        before, self._last_clocks = self._last_clocks, (piece.ended_s, piece.ended_ns)
        if before is None:
            return ()
        apart_ns = (piece.ended_s - before[0]) * 1e9 - (piece.ended_ns - before[1])
        return ("the clock jumped: machine suspended or clock set",) if abs(apart_ns) > SUSPEND_NS else ()


def _join(left: Clumps | None, right: Clumps | None) -> Clumps | None:
    if left is None or right is None:
        return left or right
    return Clumps(
        left.stalled_steps + right.stalled_steps,
        max(left.largest_wait_ns, right.largest_wait_ns),
    )


def _plus(total: int | None, more: int | None) -> int | None:
    return None if total is None or more is None else total + more


def _ms(value_ns: float | None) -> float | None:
    return None if value_ns is None else value_ns / 1e6


@dataclass(slots=True)
class _Point:
    step: int
    steps: int
    pieces: int
    input_wait_ns: int | None
    h2d_ns: int | None
    compute_ns: int | None
    other_ns: int | None

    def merge(self, later: "_Point") -> None:
        self.step = later.step
        self.steps += later.steps
        self.pieces += later.pieces
        self.input_wait_ns = _sum(self.input_wait_ns, later.input_wait_ns)
        self.h2d_ns = _sum(self.h2d_ns, later.h2d_ns)
        self.compute_ns = _sum(self.compute_ns, later.compute_ns)
        self.other_ns = _sum(self.other_ns, later.other_ns)


class History:
    """The course of the run in at most 400 points."""

    def __init__(self) -> None:
        self._points: list[_Point] = []
        self._marks: list[Mark] = []
        self._pieces_per_point = 1

    def add(self, steps: Columns) -> None:
        parts = min(MOST_PARTS, len(steps) // LEAST_STEPS) if len(self._points) < FEW_POINTS else 1
        edges = [len(steps) * part // max(1, parts) for part in range(max(1, parts) + 1)]
        for first, behind in pairwise(edges):
            self._add(_point(steps, slice(first, behind)))

    def _add(self, point: _Point) -> None:
        last = self._points[-1] if self._points else None
        if last is not None and last.pieces < self._pieces_per_point:
            last.merge(point)
            return
        self._points.append(point)
        if len(self._points) > MAX_POINTS:
            self._halve()

    def mark(self, step: int, label: str) -> None:
        self._marks.append(Mark(step, label))
        if len(self._marks) > MAX_MARKS:
            self._marks = self._marks[::2]

    def series(self) -> SeriesSection:
        points = self._points
        return SeriesSection(
            step=tuple(point.step for point in points),
            input_wait=tuple(_mean_ms(point.input_wait_ns, point.steps) for point in points),
            h2d=tuple(_mean_ms(point.h2d_ns, point.steps) for point in points),
            compute=tuple(_mean_ms(point.compute_ns, point.steps) for point in points),
            other=tuple(_mean_ms(point.other_ns, point.steps) for point in points),
            marks=tuple(self._marks),
        )

    def _halve(self) -> None:
        merged: list[_Point] = []
        for index, point in enumerate(self._points):
            if index % 2:
                merged[-1].merge(point)
            else:
                merged.append(point)
        self._points = merged
        self._pieces_per_point *= 2


def _point(steps: Columns, part: slice) -> _Point:
    def total(values_ns: Sequence[int] | None) -> int | None:
        return None if values_ns is None else sum(values_ns[part])

    numbers = steps.step[part]
    return _Point(
        step=numbers[-1],
        steps=len(numbers),
        pieces=1,
        input_wait_ns=total(steps.input_wait_ns),
        h2d_ns=total(steps.h2d_ns),
        compute_ns=total(steps.compute_ns),
        other_ns=total(steps.other_ns),
    )


def _total(values_ns: Sequence[int] | None) -> int | None:
    return None if values_ns is None else sum(values_ns)


def _sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def _mean_ms(total_ns: int | None, steps: int) -> float | None:
    return None if total_ns is None or not steps else round(total_ns / steps / 1e6, 4)
