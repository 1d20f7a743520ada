"""Errors of a trial and of a drained loader against the truth, and the table that is committed."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    case: str
    framework: str
    variant: str
    truth: float
    low: float
    high: float
    drained: float | None
    outcome: str
    ceiling: bool = False
    picked: bool = False

    @property
    def measured(self) -> float:
        return math.sqrt(self.low * self.high)

    @property
    def error(self) -> float:
        return abs(self.measured / self.truth - 1)

    @property
    def holds(self) -> bool:
        return self.low <= self.truth <= self.high

    @property
    def drain_error(self) -> float | None:
        return None if self.drained is None else abs(self.drained / self.truth - 1)


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]


def summary(rows: Sequence[Row], trials: Sequence[dict[str, Any]]) -> list[str]:
    errors = [row.error for row in rows]
    drains = [row.drain_error for row in rows if row.drain_error is not None]
    ceilings = [row.error for row in rows if row.ceiling]
    lines = [
        "| | trial | drained loader | bar |",
        "| --- | --- | --- | --- |",
        f"| comparisons | {len(rows)} | {len(drains)} | ≥ 40 |",
        f"| error, median | {statistics.median(errors):.1%} | {_share(drains, 0.5)} | ≤ 3 % |",
        f"| error, 90th percentile | {quantile(errors, 0.9):.1%} | {_share(drains, 0.9)} | ≤ 8 % |",
        f"| interval holds the truth | {sum(row.holds for row in rows) / len(rows):.0%} | none given | ≥ 90 % |",
        f"| ceiling, median error | {_share(ceilings, 0.5)} | | ≤ 3 % |",
    ]
    picks = [row for trial in trials for row in [_picked(rows, trial)] if row is not None]
    if picks:
        best = [
            max(
                other.truth
                for other in rows
                if (other.case, other.framework) == (row.case, row.framework) and not other.ceiling
            )
            for row in picks
        ]
        near = sum(row.truth >= 0.97 * top for row, top in zip(picks, best, strict=True))
        lines.append(f"| picked within 3 % of the best of its table | {near} of {len(picks)} | | all |")
    took = [trial["took_s"] for trial in trials]
    lines.append(f"| seconds of a whole trial run, median | {statistics.median(took):.0f} | | ≤ 60 and start |")
    return lines


def _picked(rows: Sequence[Row], trial: dict[str, Any]) -> Row | None:
    return next(
        (row for row in rows if row.picked and row.case == trial["case"] and row.framework == trial["framework"]), None
    )


def _share(values: Sequence[float], share: float) -> str:
    return f"{quantile(values, share):.1%}" if values else "not measured"


def table(rows: Sequence[Row]) -> list[str]:
    lines = [
        "| | script | variant | retrained | trial | holds | error | drained | its error |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        drained = "" if row.drained is None else f"{row.drained:.2f}×"
        wrong = "" if row.drain_error is None else f"{row.drain_error:.0%}"
        name = f"**{row.variant}**" if row.picked else row.variant
        lines.append(
            f"| {row.framework} | {row.case} | {name} | {row.truth:.2f}× | {row.low:.2f}–{row.high:.2f}× | "
            f"{'yes' if row.holds else 'no'} | {row.error:.1%} | {drained} | {wrong} |"
        )
    return lines
