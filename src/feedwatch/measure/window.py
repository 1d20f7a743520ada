"""Step records become windows: which steps belong together, and what they add up to."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import attrgetter, sub
from typing import Final, NamedTuple

from feedwatch.model.steps import (
    COMPUTE,
    H2D,
    INPUT_WAIT,
    OTHER,
    Clumps,
    EpochGap,
    EpochMark,
    PhaseTime,
    StepKind,
    StepRecord,
    Window,
)

# A step is stalled when its wait is a fifth of the usual step, and longer than handing over a ready batch takes.
STALL_SHARE: Final = 0.2
STALL_FLOOR_NS: Final = 300_000
# A window of microsecond steps never holds more records than this.
MAX_WINDOW_STEPS: Final = 4096
# Fewer steps than this have no median worth showing.
MIN_WINDOW_STEPS: Final = 4
_WALL_NS: Final = attrgetter("wall_ns")


class Piece(NamedTuple):
    """The steps of one window, and what lay between them."""

    records: list[StepRecord]
    gaps: list[EpochGap]
    ended_s: float
    ended_ns: int
    dropped: int  # marks and steps lost so far
    epochs: tuple[tuple[int, str], ...] = ()  # (step, label)


class WindowCutter:
    """Collects what the engine yields and cuts it into windows of about a second."""

    def __init__(self, window_seconds: float, warmup_steps: int) -> None:
        # Workers deliver in rounds (one slow batch, then N-1 fast ones): the hook raises this to two whole rounds.
        self.min_steps = MIN_WINDOW_STEPS
        self._window_ns = int(window_seconds * 1e9)
        self._warmup_left = warmup_steps
        self._epoch_first = True
        self._records: list[StepRecord] = []
        self._gaps: list[EpochGap] = []
        self._epochs: list[tuple[int, str]] = []
        self._wall_ns = 0

    def add(self, item: StepRecord | EpochGap | EpochMark) -> bool:
        """True: the window is full."""
        if isinstance(item, StepRecord):
            self._records.append(self._of_its_kind(item))
            self._wall_ns += item.wall_ns
            return self.full()
        if isinstance(item, EpochGap):
            self._gaps.append(item)
        else:
            # The next step carries iter(), worker start and the first fill of buffers.
            self._epoch_first = True
            self._epochs.append((item.step or 0, f"epoch {item.epoch + 1}"))
        return False

    def add_some(self, items: Sequence[StepRecord | EpochGap | EpochMark]) -> int:
        """How many of them were taken: up to the one that makes the window full. Several are steps and nothing else."""
        if len(items) == 1 or self._warmup_left > 0 or self._epoch_first:
            self.add(items[0])
            return 1
        so_far = len(self._records)
        ends_ns = list(accumulate(map(_WALL_NS, items), initial=self._wall_ns))
        long_enough = max(bisect_left(ends_ns, self._window_ns, 1), self.min_steps - so_far)
        taken = min(len(items), max(1, min(long_enough, MAX_WINDOW_STEPS - so_far)))
        self._records += items[:taken]  # type: ignore[arg-type]
        self._wall_ns = ends_ns[taken]
        return taken

    def full(self) -> bool:
        return self._full(self._window_ns)

    def full_enough(self) -> bool:
        """Marks are handed over about once per window: a window that is a step short of it is not kept waiting."""
        return self._full(self._window_ns // 2)

    def cut(self, ended_s: float, ended_ns: int, dropped: int) -> Piece | None:
        """None: nothing was measured since the last window."""
        if not self._records and not self._gaps:
            return None
        piece = Piece(self._records, self._gaps, ended_s, ended_ns, dropped, tuple(self._epochs))
        self._records, self._gaps, self._epochs, self._wall_ns = [], [], [], 0
        return piece

    def _full(self, least_ns: int) -> bool:
        steps = len(self._records)
        return (self._wall_ns >= least_ns and steps >= self.min_steps) or steps >= MAX_WINDOW_STEPS

    def _of_its_kind(self, record: StepRecord) -> StepRecord:
        if self._warmup_left > 0:
            self._warmup_left -= 1
            kind = StepKind.WARMUP
        elif self._epoch_first:
            kind = StepKind.EPOCH_FIRST
        else:
            return record
        self._epoch_first = False
        # A step that knows its kind by itself was traced, or touched by a profiler: its times are no first step's.
        return record if record.kind is not StepKind.STEADY else record._replace(kind=kind)


@dataclass(frozen=True, slots=True)
class Columns:
    """A phase is None as soon as one step does not know it: half a phase is not a phase."""

    step: tuple[int, ...]
    wall_ns: tuple[int, ...]
    input_wait_ns: tuple[int, ...] | None
    h2d_ns: tuple[int, ...] | None
    compute_ns: tuple[int, ...] | None
    other_ns: list[int] | None
    batches: int
    samples: int | None
    starved_ns: tuple[int, ...] | None
    kind: tuple[StepKind, ...]

    def __len__(self) -> int:
        return len(self.step)


def columns(records: Sequence[StepRecord]) -> Columns:
    """At least one record."""
    step, wall, wait, copy, compute, batches, samples, starved, _, kind, _ = zip(*records, strict=True)
    known_samples = _complete(samples)
    return Columns(
        step=step,
        wall_ns=wall,
        input_wait_ns=_complete(wait),
        h2d_ns=_complete(copy),
        compute_ns=_complete(compute),
        # With nothing claimed there is nothing to set "the rest" against.
        other_ns=None if None in wait else _rest(wall, wait, copy, compute),
        batches=sum(batches),
        samples=None if known_samples is None else sum(known_samples),
        starved_ns=_complete(starved),
        kind=kind,
    )


def _complete(column: tuple[int | None, ...]) -> tuple[int, ...] | None:
    return None if None in column else column  # type: ignore[return-value]


def _rest(
    wall: tuple[int, ...],
    wait: Sequence[int | None],
    copy: Sequence[int | None],
    compute: Sequence[int | None],
) -> list[int]:
    """StepRecord.other_ns for a whole column."""
    rest = list(map(sub, wall, wait))
    for column in (copy, compute):
        claimed = [value or 0 for value in column] if None in column else column
        rest = list(map(sub, rest, claimed))
    return rest if min(rest) >= 0 else [max(0, value) for value in rest]


def fold(steps: Columns, ended_s: float = 0.0, distrust: tuple[str, ...] = ()) -> Window:
    step = phase_time(steps.wall_ns)
    assert step is not None  # a window has at least one step
    waits = steps.input_wait_ns
    return Window(
        first_step=steps.step[0],
        last_step=steps.step[-1],
        steps=len(steps),
        batches=steps.batches,
        samples=steps.samples,
        wall_ns=step.total_ns,
        step=step,
        phases={
            INPUT_WAIT: phase_time(waits),
            H2D: phase_time(steps.h2d_ns),
            COMPUTE: phase_time(steps.compute_ns),
            OTHER: phase_time(steps.other_ns),
        },
        starved_ns=None if steps.starved_ns is None else sum(steps.starved_ns),
        clumps=None if waits is None else clumps(waits, step.median_ns),
        distrust=distrust,
        ended_s=ended_s,
    )


def phase_time(values_ns: Sequence[int] | None) -> PhaseTime | None:
    if values_ns is None:
        return None
    ordered = sorted(values_ns)
    return PhaseTime(sum(ordered), _at(ordered, 0.5), _at(ordered, 0.95))


def clumps(waits_ns: Sequence[int], step_median_ns: float) -> Clumps:
    floor_ns = max(STALL_FLOOR_NS, STALL_SHARE * step_median_ns)
    return Clumps(sum(wait_ns > floor_ns for wait_ns in waits_ns), max(waits_ns, default=0))


def _at(ordered: Sequence[int], share: float) -> float:
    """Linear between neighbours, as people expect a median to be."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
