"""Findings that only the files of several ranks together show; made by whoever reads them."""

from feedwatch.advise.case import Case
from feedwatch.advise.engine import advise
from feedwatch.advise.registry import rule
from feedwatch.model.facts import Facts, RunFacts
from feedwatch.model.report import RanksSection, RunSection
from feedwatch.model.verdict import Finding, Verdict


def rank_findings(run: RunSection, verdict: Verdict, ranks: RanksSection) -> tuple[Finding, ...]:
    """Of a merged report: its run, its verdict and the ranks beside it."""
    facts = RunFacts(run.framework, run.version, run.backend, run.device, rank=run.rank, world_size=run.world_size)
    return advise(Case(verdict, None, Facts(facts), ranks=ranks), rules=(rule("FW501"),)).findings
