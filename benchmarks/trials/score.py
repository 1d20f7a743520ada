"""Errors of a trial and of a drained loader against the truth, and the table that is committed."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# A setting as close as this to the best is as good.
AS_GOOD = 0.97


@dataclass(frozen=True)
class Row:
    case: str
    framework: str
    variant: str
    turns: tuple[float, ...]  # gain of the script that was changed and retrained, of each turn
    low: float
    high: float
    drained: float | None
    outcome: str
    ceiling: bool = False
    picked: bool = False

    @property
    def truth(self) -> float:
        return statistics.median(self.turns)

    @property
    def measured(self) -> float:
        return math.sqrt(self.low * self.high)

    @property
    def error(self) -> float:
        return abs(self.measured / self.truth - 1)

    @property
    def truth_error(self) -> float | None:
        """What the turns differ by, to each side; it is no error of the trial's."""
        return math.sqrt(max(self.turns) / min(self.turns)) - 1 if len(self.turns) > 1 else None

    @property
    def holds(self) -> bool:
        return self.low <= self.truth <= self.high

    @property
    def drain_error(self) -> float | None:
        return None if self.drained is None else abs(self.drained / self.truth - 1)


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]


def page(kept: Mapping[str, Any]) -> str:
    kept = {key: entry for key, entry in kept.items() if "rows" in entry}  # a grid alone compares nothing
    entries = list(kept.values())
    rows = [Row(**row) for entry in entries for row in entry["rows"]]
    dates = sorted({entry["date"] for entry in entries})
    machines = sorted({entry["machine"] for entry in entries})
    loud = [note for entry in entries for note in entry["trial"]["notes"] if "other processes" in note]
    lines = [
        "# Trials against retraining",
        "",
        "Made by `make trials`; do not edit. Truth: the script really changed and retrained, every training a process",
        "of its own without feedwatch, timed by the script's own stopwatch, in turns with the script as it is; the",
        "median of its turns, and beside it what they differ by. *Drained*: the loader alone, as fast as it can. What",
        "the trial picked is in bold.",
        "",
        f"{len(rows)} comparisons in {len(entries)} scripts; measured {_between(dates)} on {'; '.join(machines)}"
        + (f"; in {len(loud)} of the trials other processes used the CPUs, too." if loud else "."),
        "",
        *summary(rows, entries),
        "",
        *picks(kept),
        *table(rows),
        "",
    ]
    return "\n".join(lines)


def _between(dates: Sequence[str]) -> str:
    return dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"


def summary(rows: Sequence[Row], entries: Sequence[Mapping[str, Any]]) -> list[str]:
    errors = [row.error for row in rows]
    drains = [row.drain_error for row in rows if row.drain_error is not None]
    beside = [row.error for row in rows if row.drain_error is not None]
    ceilings = [row.error for row in rows if row.ceiling]
    spreads = [row.truth_error for row in rows if row.truth_error is not None]
    took = [entry["trial"]["seconds"] for entry in entries]
    on_device = len({row.case for row in rows if row.framework == "device"})
    longest = max(took, default=math.inf)
    said = [
        ("comparisons", len(rows), len(drains), "≥ 40", len(rows) >= 40),
        ("scripts on the emulated device", on_device, "", "≥ 8", on_device >= 8),
        ("error, median", _share(errors, 0.5), _share(drains, 0.5), "≤ 3 %", _of(errors, 0.5) <= 0.03),
        ("error, 90th percentile", _share(errors, 0.9), _share(drains, 0.9), "≤ 8 %", _of(errors, 0.9) <= 0.08),
        ("error where both were asked, median", _share(beside, 0.5), _share(drains, 0.5), "", None),
        ("interval holds the truth", f"{_held(rows):.0%}", "none given", "≥ 90 %", _held(rows) >= 0.9),
        ("ceiling, median error", _share(ceilings, 0.5), "", "≤ 3 %", _of(ceilings, 0.5) <= 0.03),
        ("what turns of one training differ by, median", f"± {_share(spreads, 0.5)}", "", "", None),
        ("seconds of a trial, longest", f"{longest:.0f}", "", "≤ 60", longest <= 60),
    ]
    return [
        "| | trial | drained loader | bar | |",
        "| --- | --- | --- | --- | --- |",
        *(f"| {what} | {own} | {others} | {bar} | {_met(met)} |" for what, own, others, bar, met in said),
    ]


def picks(kept: Mapping[str, Any]) -> list[str]:
    """What was picked against every number of workers, where a grid of them was retrained."""
    lines = []
    for key, entry in kept.items():
        grid = entry.get("grid")
        if not grid:
            continue
        gains = {int(workers): gain for workers, gain in grid["gains"].items()}
        best = max(gains.values())
        smallest = min(workers for workers, gain in gains.items() if gain >= AS_GOOD * best)
        chosen = _workers_of(entry["trial"], grid["now"])
        near = "not in it" if chosen not in gains else f"{gains[chosen] / best:.0%}"
        lines.append(
            f"| {key} | {chosen} | {near} | {smallest} | {entry['trial']['seconds']:.0f} s | {grid['seconds']:.0f} s |"
        )
    if not lines:
        return []
    return [
        "Every number of workers from 0 to 8 retrained once, and what the trial picked (bars: within 3 % of the best,",
        "not more than one worker too many, in a fifth of the time):",
        "",
        "| script | workers picked | of the best of the grid | fewest within 3 % of it | trial | grid |",
        "| --- | --- | --- | --- | --- | --- |",
        *lines,
        "",
    ]


def _workers_of(trial: Mapping[str, Any], now: int) -> int:
    row = next((row for row in trial["rows"] if row["name"] == trial["picked"]), None)
    return now if row is None else int(row["settings"].get("num_workers", now))


def _held(rows: Sequence[Row]) -> float:
    return sum(row.holds for row in rows) / len(rows) if rows else 0.0


def _met(is_met: bool | None) -> str:
    return "" if is_met is None else "met" if is_met else "**missed**"


def _of(values: Sequence[float], share: float) -> float:
    return quantile(values, share) if values else math.inf


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
        apart = "" if row.truth_error is None else f" ± {row.truth_error:.1%}"
        lines.append(
            f"| {row.framework} | {row.case} | {name} | {row.truth:.2f}×{apart} | {row.low:.2f}–{row.high:.2f}× | "
            f"{'yes' if row.holds else 'no'} | {row.error:.1%} | {drained} | {wrong} |"
        )
    return lines
