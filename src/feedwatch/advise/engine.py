"""A case goes in; findings come out, the most valuable first. A healthy run gets none."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from feedwatch.advise.case import Case
from feedwatch.advise.precedence import without_silenced
from feedwatch.advise.ranking import Fired, combined_gain, ranked, worth_saying
from feedwatch.advise.registry import RULES, rule
from feedwatch.advise.rule import Rule
from feedwatch.advise.step_model import step_times
from feedwatch.model.facts import Facts, RunFacts
from feedwatch.model.report import RanksSection, RunSection
from feedwatch.model.verdict import Bound, Finding, Gain, Verdict


@dataclass(frozen=True, slots=True)
class Advice:
    findings: tuple[Finding, ...] = ()
    combined: Gain | None = None  # of the first two findings together


def advise(case: Case, rules: Sequence[Rule] = RULES) -> Advice:
    kept = ranked(without_silenced(one for one in fired_on(case, rules) if worth_saying(one)))
    findings = tuple(one.rule.finding(one.evidence, one.gain) for one in kept)
    return Advice(findings, _combined(case, kept))


def fired_on(case: Case, rules: Sequence[Rule] = RULES) -> Iterable[Fired]:
    for one in rules:
        evidence = one.check(case)
        if evidence is not None:
            yield Fired(one, evidence, one.predict(case, evidence))


def rank_findings(run: RunSection, verdict: Verdict, ranks: RanksSection) -> tuple[Finding, ...]:
    """Findings that can only be seen in the reports of several ranks together."""
    facts = RunFacts(run.framework, run.version, run.backend, run.device, rank=run.rank, world_size=run.world_size)
    return advise(Case(verdict, None, Facts(facts), ranks=ranks), rules=(rule("FW501"),)).findings


def _combined(case: Case, kept: Sequence[Fired]) -> Gain | None:
    if len(kept) < 2:
        return None
    times = step_times(case)
    input_share = None if times is None else times.wait_share
    first, second = kept[0], kept[1]
    return combined_gain(first, second, input_share if first.rule.relieves is Bound.INPUT else None)
