"""What came of a case: medians over its repeats, held against what is known about it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

Answer = dict[str, Any]  # what child.py wrote
Told = dict[str, Any]  # a case as the nursery tells it
# Turns that are added where the first ones disagree.
MORE_TURNS = 2


@dataclass(frozen=True)
class Outcome:
    name: str
    expects: str | None
    cause: str
    firsts: tuple[str | None, ...]  # first finding of every run as it was
    left: str | None  # first finding after the fix, in most runs
    low: float | None  # predicted for the expected finding
    high: float | None
    reached: float | None  # by feedwatch's figures, or the run's wall time where the gain is the run's
    by_clock: float | None  # the same by the script's own clock

    @property
    def first(self) -> str | None:
        """In most runs."""
        return Counter(self.firsts).most_common(1)[0][0]

    @property
    def correct(self) -> bool:
        return self.first == self.expects

    @property
    def promised(self) -> bool:
        """A gain was predicted, so it can be held against the one reached."""
        return self.low is not None and self.high is not None and self.reached is not None

    @property
    def inside(self) -> bool:
        return self.promised and (self.low or 0) <= (self.reached or 0) <= (self.high or 0)


def outcome(case: Told, bad: Sequence[Answer], good: Sequence[Answer]) -> Outcome:
    gains = [one["gain"] for one in (finding_of(answer, case["expects"]) for answer in bad) if one and one["gain"]]
    by_run = case["gain_of"] == "run"
    reached = by_clock = None
    if good:
        by_clock = _ratio(bad, good, lambda one: one["run_s"] if by_run else one["step_ms"])
        reached = by_clock if by_run else _ratio(bad, good, sample_ms)
    return Outcome(
        name=case["name"],
        expects=case["expects"],
        cause=case["cause"],
        firsts=tuple(first_code(answer) for answer in bad),
        left=Counter(first_code(answer) for answer in good).most_common(1)[0][0] if good else None,
        low=median(gain["low"] for gain in gains) if gains else None,
        high=median(gain["high"] for gain in gains) if gains else None,
        reached=reached,
        by_clock=by_clock,
    )


def disagree(case: Told, bad: Sequence[Answer], good: Sequence[Answer]) -> bool:
    """About the finding, or whether its gain holds."""
    if not good:
        return len({first_code(answer) for answer in bad}) > 1
    turns = [outcome(case, [one], [other]) for one, other in zip(bad, good, strict=True)]
    return len({(turn.first, turn.inside) for turn in turns}) > 1


def first_code(answer: Answer) -> str | None:
    findings = answer["report"]["findings"]
    return findings[0]["code"] if findings else None


def finding_of(answer: Answer, code: str | None) -> dict[str, Any] | None:
    return next((one for one in answer["report"]["findings"] if one["code"] == code), None)


def sample_ms(answer: Answer) -> float:
    """Milliseconds per sample, or per batch where feedwatch could not see the samples; batches are equally large."""
    rate = answer["report"]["verdict"]["samples_per_s"]
    run = answer["facts"]["run"]
    return 1000 / rate if rate else run["wall_ns"] / run["batches"] / 1e6


def _ratio(bad: Sequence[Answer], good: Sequence[Answer], time: Any) -> float:
    """Turn by turn: the two trainings of a turn stand side by side in time, the turns do not."""
    return float(median(time(one) / time(other) for one, other in zip(bad, good, strict=True)))
