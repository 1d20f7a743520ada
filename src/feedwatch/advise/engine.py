"""A case goes in; findings come out, the most valuable first. A healthy run gets none."""

from collections.abc import Iterable, Sequence

from feedwatch.advise.case import Case
from feedwatch.advise.precedence import without_silenced
from feedwatch.advise.ranking import Fired, one_per_knob, ranked, worth_saying
from feedwatch.advise.registry import RULES, rule
from feedwatch.advise.rule import Rule
from feedwatch.model.facts import Facts, RunFacts
from feedwatch.model.report import RanksSection, RunSection
from feedwatch.model.verdict import Finding, Verdict


def advise(case: Case, rules: Sequence[Rule] = RULES) -> tuple[Finding, ...]:
    said = (one for one in fired_on(case, rules) if worth_saying(one))
    kept = one_per_knob(ranked(without_silenced(said)))
    return tuple(one.rule.finding(one.found) for one in kept)


def fired_on(case: Case, rules: Sequence[Rule] = RULES) -> Iterable[Fired]:
    for one in rules:
        found = one.check(case)
        if found is not None:
            yield Fired(one, found)


def rank_findings(run: RunSection, verdict: Verdict, ranks: RanksSection) -> tuple[Finding, ...]:
    """Findings that can only be seen in the reports of several ranks together."""
    facts = RunFacts(run.framework, run.version, run.backend, run.device, rank=run.rank, world_size=run.world_size)
    return advise(Case(verdict, None, Facts(facts), ranks=ranks), rules=(rule("FW501"),))
