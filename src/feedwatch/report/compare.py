"""Two runs of one training, before and after a change: what differs, and whether the difference is noise."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from feedwatch.model.report import Report
from feedwatch.model.steps import INPUT_WAIT, PHASES
from feedwatch.words import NOT_MEASURED, PHASE_NAMES

# Windows of one run resemble their neighbours, so they are no independent samples. The test takes the medians of at
# most twelve stretches of each run. With fewer than eight stretches a rank test proves little.
MAX_STRETCHES: Final = 12
MIN_STRETCHES: Final = 8
SIGNIFICANT_P: Final = 0.01

Points = NDArray[np.float64]


class Call(str, Enum):
    SIGNIFICANT = "significant"
    WITHIN_NOISE = "within noise"
    TOO_FEW = "too few windows to tell"
    NOT_MEASURED = NOT_MEASURED


class Unit(str, Enum):
    MS = "ms"
    PER_SECOND = "samples/s"
    SHARE = "share"


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    unit: Unit
    before: float | None
    after: float | None
    change: float | None  # after / before - 1; of a share the difference
    p: float | None
    call: Call


@dataclass(frozen=True, slots=True)
class Comparison:
    speedup: float | None  # by samples per second where both runs know them, else by step time
    rows: tuple[Row, ...]


def compare(before: Report, after: Report) -> Comparison:
    return Comparison(speedup(before, after), tuple(_rows(before, after)))


def _rows(before: Report, after: Report) -> Iterator[Row]:
    a, b = before.verdict, after.verdict
    yield _row("step", Unit.MS, (a.step_ms, b.step_ms), (_step_ms(before), _step_ms(after)))
    rates = (_samples_per_s(before), _samples_per_s(after))
    yield _row("samples per second", Unit.PER_SECOND, (a.samples_per_s, b.samples_per_s), rates)
    stalls = (_stall_ratio(before), _stall_ratio(after))
    yield _row("stall ratio", Unit.SHARE, (a.stall_ratio, b.stall_ratio), stalls)
    for phase in PHASES:
        values = (_phase_ms(before, phase), _phase_ms(after, phase))
        yield _row(PHASE_NAMES[phase], Unit.MS, values, (_history(before, phase), _history(after, phase)))


def _row(name: str, unit: Unit, values: tuple[float | None, float | None], points: tuple[Points, Points]) -> Row:
    before, after = values
    if before is None or after is None:
        return Row(name, unit, before, after, None, None, Call.NOT_MEASURED)
    if unit is Unit.SHARE:
        change: float | None = after - before
    else:
        change = after / before - 1.0 if before > 0 else None
    stretches = [_stretches(each) for each in points]
    if min(len(each) for each in stretches) < MIN_STRETCHES:
        return Row(name, unit, before, after, change, None, Call.TOO_FEW)
    p = mann_whitney_p(stretches[0], stretches[1])
    return Row(name, unit, before, after, change, p, Call.SIGNIFICANT if p < SIGNIFICANT_P else Call.WITHIN_NOISE)


def _stretches(points: Points) -> Points:
    known = points[np.isfinite(points)]
    count = min(MAX_STRETCHES, len(known))
    return np.array([np.median(part) for part in np.array_split(known, count)]) if count else known


def _phase_ms(report: Report, phase: str) -> float | None:
    section = report.phases.get(phase)
    return None if section is None else section.ms


def _history(report: Report, phase: str) -> Points:
    values: Sequence[float | None] = getattr(report.series, phase)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _step_ms(report: Report) -> Points:
    """The sum of the phases. The time of a phase that was not measured is part of the other phases."""
    histories = [history for phase in PHASES if len(history := _history(report, phase))]
    return np.sum(np.nan_to_num(np.stack(histories)), axis=0) if histories else np.array([])


def _stall_ratio(report: Report) -> Points:
    wait, step = _history(report, INPUT_WAIT), _step_ms(report)
    return np.divide(wait, step, out=np.full_like(step, np.nan), where=step > 0) if len(wait) else wait


def _samples_per_s(report: Report) -> Points:
    """The history holds only times, but the number of samples per step does not change within a run."""
    verdict, step = report.verdict, _step_ms(report)
    if not verdict.samples_per_s or not verdict.step_ms:
        return np.array([])
    samples_per_step = verdict.samples_per_s * verdict.step_ms
    return np.divide(samples_per_step, step, out=np.full_like(step, np.nan), where=step > 0)


def speedup(before: Report, after: Report) -> float | None:
    """Of the whole step: what the user gains. A larger batch makes a longer step that is not slower."""
    a, b = before.verdict, after.verdict
    if a.samples_per_s and b.samples_per_s:
        return b.samples_per_s / a.samples_per_s
    return a.step_ms / b.step_ms if a.step_ms and b.step_ms else None


def mann_whitney_p(a: Points, b: Points) -> float:
    """Are the values of one sample usually larger than those of the other?

    Two-sided p by the normal approximation with ties and continuity corrected; good from eight values on.
    """
    n, m = len(a), len(b)
    ranks, tie_sizes = _mid_ranks(np.concatenate([a, b]))
    u = float(ranks[:n].sum()) - n * (n + 1) / 2
    total = n + m
    ties = float(((tie_sizes**3 - tie_sizes).sum()) / (total * (total - 1)))
    variance = n * m / 12 * (total + 1 - ties)
    if variance <= 0:
        return 1.0  # all values are equal
    z = max(0.0, abs(u - n * m / 2) - 0.5) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2))


def _mid_ranks(values: Points) -> tuple[Points, NDArray[np.int64]]:
    """Ranks from 1 on. Equal values share the mean of their ranks."""
    _, place, sizes = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(sizes)
    middle = last - (sizes - 1) / 2
    return middle[place.reshape(-1)], sizes.astype(np.int64)
