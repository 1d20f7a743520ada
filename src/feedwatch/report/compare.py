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
# most twelve stretches of each run. It is exact, and with five of each the clearest difference has p = 0.008: fewer
# cannot prove anything.
MAX_STRETCHES: Final = 12
MIN_STRETCHES: Final = 5
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
    windows: int = 0  # of the run that has fewer
    windows_needed: int = MIN_STRETCHES


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
    windows = min(int(np.isfinite(each).sum()) for each in points)
    if windows < MIN_STRETCHES:
        return Row(name, unit, before, after, change, None, Call.TOO_FEW, windows)
    p = mann_whitney_p(*(_stretches(each) for each in points))
    call = Call.SIGNIFICANT if p < SIGNIFICANT_P else Call.WITHIN_NOISE
    return Row(name, unit, before, after, change, p, call, windows)


def _stretches(points: Points) -> Points:
    known = points[np.isfinite(points)]
    count = min(MAX_STRETCHES, len(known))
    return np.array([np.median(part) for part in np.array_split(known, count)]) if count else known


def _phase_ms(report: Report, phase: str) -> float | None:
    """The mean: phases add up to the step. Reports of schema 1 have only a median."""
    section = report.phases.get(phase)
    if section is None:
        return None
    return section.ms if section.mean_ms is None else section.mean_ms


def _history(report: Report, phase: str) -> Points:
    """Without the points that hold nothing but warm-up."""
    values: Sequence[float | None] = getattr(report.series, phase)
    first = sum(step <= report.steps.warmup for step in report.series.step)
    return np.array([np.nan if value is None else value for value in values[first:]], dtype=np.float64)


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

    Two-sided and exact, ties included: of all ways to deal the ranks to the two samples, the share that lies at least
    as far from even as what was seen.
    """
    n, total = len(a), len(a) + len(b)
    doubled = np.rint(2 * _mid_ranks(np.concatenate([a, b]))).astype(np.int64)
    ways = np.zeros((n + 1, int(doubled.sum()) + 1))
    ways[0, 0] = 1.0  # ways[k, s]: so many choices of k ranks have the sum s
    for rank in doubled:
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank]
    sums = np.arange(ways.shape[1])
    even = n * (total + 1)  # of the doubled ranks
    far = np.abs(sums - even) >= abs(int(doubled[:n].sum()) - even)
    return float(ways[n, far].sum() / math.comb(total, n))


def _mid_ranks(values: Points) -> Points:
    """Ranks from 1 on. Equal values share the mean of their ranks."""
    _, place, sizes = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(sizes) - (sizes - 1) / 2
    return np.asarray(middle[place.reshape(-1)], dtype=np.float64)
