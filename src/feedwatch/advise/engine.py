"""A case goes in; findings come out, the most valuable first. A healthy run gets none."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from feedwatch.advise.case import Case
from feedwatch.advise.precedence import without_silenced
from feedwatch.advise.ranking import Fired, combined_gain, ranked, worth_saying
from feedwatch.advise.registry import RULES
from feedwatch.advise.rule import Rule
from feedwatch.advise.step_model import step_times
from feedwatch.model.verdict import Bound, Finding, Gain


@dataclass(frozen=True, slots=True)
class Advice:
    findings: tuple[Finding, ...] = ()
    combined: Gain | None = None  # of the first two findings together


def advise(case: Case, rules: Sequence[Rule] = RULES) -> Advice:
    kept = ranked(without_silenced(one for one in fired_on(case, rules) if worth_saying(one)))
    findings = tuple(one.rule.finding(one.evidence, one.gain) for one in kept)
    return Advice(findings, _combined(case, kept))


def fired_on(case: Case, rules: Sequence[Rule] = RULES) -> Iterable[Fired]:
    for rule in rules:
        evidence = rule.check(case)
        if evidence is not None:
            yield Fired(rule, evidence, rule.predict(case, evidence))


def _combined(case: Case, kept: Sequence[Fired]) -> Gain | None:
    if len(kept) < 2:
        return None
    times = step_times(case)
    input_share = None if times is None else times.wait_share
    first, second = kept[0], kept[1]
    return combined_gain(first, second, input_share if first.rule.relieves is Bound.INPUT else None)
