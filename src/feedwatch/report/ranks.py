"""The reports of several ranks as one.

The other ranks see a slow loader on one rank as compute time, so only all reports together show the cause.
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median_low
from typing import Final

from feedwatch.advise.engine import rank_findings
from feedwatch.errors import ReportError
from feedwatch.model.report import RankLine, RanksSection, Report, Status
from feedwatch.model.steps import INPUT_WAIT
from feedwatch.model.verdict import Bound

# A thousand ranks must not make a thousand rows. The ranks that wait longest are shown.
MAX_LINES: Final = 16
# Of this rank's own steps.
RECENT_SHARE: Final = 0.5


def merge(reports: Sequence[Report]) -> Report:
    """The report of the rank that waits longest, with a section about all ranks. One rank alone stays as it is, and so
    does a report that holds the others already.
    """
    if not reports:
        raise ReportError("no report to read")
    newest = _newest_run(reports)
    if len(newest) == 1 and (newest[0].run.world_size <= 1 or newest[0].ranks is not None):
        return newest[0]
    ordered = sorted(newest, key=_wait_ms, reverse=True)
    leader = ordered[0] if ordered[0].verdict.bound is Bound.INPUT else _first_rank(newest)
    section = _section(ordered)
    # First the finding that one rank holds up all the others, then what is wrong on that rank.
    findings = (*rank_findings(leader.run, leader.verdict, section), *leader.findings)
    return replace(leader, status=_status(newest), ranks=section, findings=findings)


def beside(own: Report, siblings: Sequence[Report]) -> Report:
    """A rank that still trains, or has just ended, with what the others have written so far.

    Ranks go in step: a report of far fewer steps is an old one. It counts in the table of ranks, but does not speak for
    the run. How the run ends, this rank knows best: the others' last reports come at the same moment or a little later.
    """
    if not siblings:
        return own
    merged = merge([own, *siblings])
    if merged.steps.measured < RECENT_SHARE * own.steps.measured:
        return replace(own, ranks=merged.ranks)
    return replace(merged, status=own.status)


def _newest_run(reports: Sequence[Report]) -> list[Report]:
    """Files of an earlier run with more ranks may lie in the same directory. Only the newest run is kept."""
    last = max(report.run.started for report in reports)
    world = next(report.run.world_size for report in reports if report.run.started == last)
    # Ranks of one run start within minutes of each other and agree on the world's size.
    return [report for report in reports if report.run.world_size == world and last - report.run.started < 600]


def _first_rank(reports: Sequence[Report]) -> Report:
    return min(reports, key=lambda report: report.run.rank)


def _wait_ms(report: Report) -> float:
    wait = report.phases.get(INPUT_WAIT)
    return 0.0 if wait is None else wait.ms


def _status(reports: Sequence[Report]) -> Status:
    """The worst status of any rank."""
    seen = {report.status for report in reports}
    for status in (Status.FAILED, Status.INTERRUPTED, Status.RUNNING):
        if status in seen:
            return status
    return Status.FINISHED


def _section(ordered: Sequence[Report]) -> RanksSection:
    lines = [_line(report) for report in ordered]
    waits = [line.input_wait_ms for line in lines if line.input_wait_ms is not None]
    world_size = ordered[0].run.world_size
    return RanksSection(
        count=len(ordered),
        world_size=world_size,
        missing=max(0, world_size - len(ordered)),
        slowest=lines[0] if waits else None,
        # The lower of the middle two, because with two ranks their mean would hide the slow one.
        median_input_wait_ms=median_low(waits) if waits else None,
        max_input_wait_ms=max(waits, default=None),
        lines=tuple(lines[:MAX_LINES]),
    )


def _line(report: Report) -> RankLine:
    wait = report.phases.get(INPUT_WAIT)
    verdict = report.verdict
    return RankLine(report.run.rank, verdict.stall_ratio, verdict.step_ms, None if wait is None else wait.ms)
