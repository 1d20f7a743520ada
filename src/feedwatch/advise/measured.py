"""What a trial measured takes the place of what was predicted: in the gains, in the order, and in what is advised."""

import math
from collections.abc import Sequence
from dataclasses import replace

from feedwatch.advise.registry import rule
from feedwatch.model.trial import Outcome, TrialRow, TrialSection
from feedwatch.model.verdict import Basis, Finding, Fix, Gain, Verdict
from feedwatch.words import count, ms, seconds


def with_measured(findings: Sequence[Finding], trial: TrialSection | None) -> tuple[Finding, ...]:
    """The setting that the trial picked comes first. A change that was tried and did not help is no advice any more:
    the table of the trial shows it.
    """
    if trial is None or trial.as_is is None:
        return tuple(findings)
    tried = {code: row for row in trial.rows if row.advised and row.speedup is not None for code in row.codes}
    winner = trial.winner
    kept = [_measured(each, tried.get(each.code)) for each in findings]
    helps = [each for each in kept if each is not None and (winner is None or each.code not in winner.codes)]
    helps.sort(key=_place)
    shown = winner is not None and winner.speedup is not None and bool(winner.codes)
    first = (_picked(winner, trial, findings),) if shown and winner is not None else ()
    return (*first, *helps)


def with_measured_ceiling(verdict: Verdict, trial: TrialSection | None) -> Verdict:
    if trial is None or trial.ceiling is None:
        return verdict
    return replace(verdict, ceiling_speedup=math.sqrt(trial.ceiling.low * trial.ceiling.high))


def _measured(finding: Finding, row: TrialRow | None) -> Finding | None:
    if row is None or row.speedup is None:
        return finding
    if row.outcome in (Outcome.SAME, Outcome.SLOWER):
        return None
    return replace(finding, gain=_gain(row))


def _gain(row: TrialRow) -> Gain:
    assert row.speedup is not None
    because = f"{count(row.blocks, 'block')} of {seconds(row.seconds)} in all, in turns with the run as it is"
    return Gain(row.speedup.low, row.speedup.high, Basis.MEASURED, because)


def _picked(row: TrialRow, trial: TrialSection, findings: Sequence[Finding]) -> Finding:
    said = next((each for each in findings if each.code in row.codes), None)
    as_is = trial.as_is
    assert as_is is not None
    less = " Nothing is faster by it, but it takes less." if row.outcome is Outcome.SAME else ""
    why = f"A batch takes {ms(row.step_ms)} with it and {ms(as_is.step_ms)} as it is, measured in your training.{less}"
    fix = trial.fix or (said.fix if said is not None else Fix("", ""))
    if said is not None:
        return replace(said, title=f"Use {row.name}", why=why, fix=fix, gain=_gain(row))
    code = row.codes[0]
    return Finding(code, rule(code).name, f"Use {row.name}", why, {}, fix, _gain(row))


def _place(finding: Finding) -> tuple[bool, bool, float]:
    gain = finding.gain
    if gain is None:
        return True, True, 0.0
    return False, gain.basis is not Basis.MEASURED, -math.sqrt(gain.low * gain.high)
