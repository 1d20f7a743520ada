"""Which findings are shown, and which stands first."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from feedwatch.advise.rule import Found, Rule
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Gain

# Gains closer than this are equals: the smaller edit goes first.
EQUAL_WITHIN: Final = 0.05


@dataclass(frozen=True, slots=True)
class Fired:
    rule: Rule
    found: Found

    @property
    def gain(self) -> Gain | None:
        return self.found.gain


def worth_saying(fired: Fired) -> bool:
    """A notice always is. A change is when even the low end of its range is worth the edit."""
    return fired.gain is None or fired.gain.low >= THRESHOLDS.least_gain


def ranked(fired: Iterable[Fired]) -> list[Fired]:
    return sorted(fired, key=_place)


def one_per_knob(ordered: Iterable[Fired]) -> list[Fired]:
    """Two changes to one knob cannot both be made: the better one stays. Notices turn no knob."""
    kept: list[Fired] = []
    turned: set[str] = set()
    for one in ordered:
        if one.gain is not None and one.rule.knob in turned:
            continue
        kept.append(one)
        turned.update({one.rule.knob} if one.gain is not None else ())
    return kept


def _place(fired: Fired) -> tuple[bool, int, int, str]:
    gain = fired.gain
    if gain is None:
        return True, 0, fired.rule.edit_lines, fired.rule.code
    bucket = round(math.log(expected(gain)) / math.log(1 + EQUAL_WITHIN))
    return False, -bucket, fired.rule.edit_lines, fired.rule.code


def expected(gain: Gain) -> float:
    """The geometric mean of the range: the middle between two factors."""
    return math.sqrt(gain.low * gain.high)
