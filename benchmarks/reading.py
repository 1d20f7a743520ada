"""Figures out of a feedwatch report, as a user would take them."""

from benchmarks.scenes import BATCH
from feedwatch.model.report import PhaseSection, Report

PHASES = {"input": "input_wait", "compute": "compute", "copy": "h2d"}


def phases_of(report: Report | None, batch: int = BATCH) -> dict[str, float | None] | None:
    """Mean milliseconds per step: the share of a phase times the mean step."""
    if report is None or not report.verdict.samples_per_s:
        return None
    step_ms = 1000 * batch / report.verdict.samples_per_s
    return {ours: _ms(report.phases.get(theirs), step_ms) for ours, theirs in PHASES.items()}


def _ms(phase: PhaseSection | None, step_ms: float) -> float | None:
    return None if phase is None else round(phase.share * step_ms, 4)
