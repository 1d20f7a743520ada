"""Where the time of a run goes, part by part: the same figures for console, notebook and Text tab as in the tab."""

from typing import NamedTuple

from feedwatch.model.report import Report
from feedwatch.model.steps import PHASES
from feedwatch.words import ASIDE_NAMES, NOT_MEASURED, PHASE_NAMES, ms, percent


class PartLine(NamedTuple):
    key: str
    name: str
    mean_ms: float | None  # None: not measured
    share: float | None


def parts_of(report: Report) -> list[PartLine]:
    """The four phases, and what the run spends beside its steps. The means add up to the batch."""
    if report.account is None:  # schema 1, or no steady step yet
        phases = {name: report.phases.get(name) for name in PHASES}
        return [
            PartLine(name, PHASE_NAMES[name], None, None)
            if phase is None
            else PartLine(name, PHASE_NAMES[name], phase.ms if phase.mean_ms is None else phase.mean_ms, phase.share)
            for name, phase in phases.items()
        ]
    parts = {name: report.account.parts.get(name) for name in (*PHASES, *ASIDE_NAMES)}
    names = PHASE_NAMES | ASIDE_NAMES
    return [
        PartLine(key, names[key], None, None) if part is None else PartLine(key, names[key], part.ms, part.share)
        for key, part in parts.items()
        if key in PHASE_NAMES or (part is not None and part.ms > 0)
    ]


def mean_and_share(line: PartLine) -> str:
    return NOT_MEASURED if line.mean_ms is None else f"{ms(line.mean_ms)} ({percent(line.share)})"
