"""Which finding stands first, and what the first two are worth together."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from feedwatch.advise.rule import Rule
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Basis, Evidence, Gain

# Gains closer than this are equals: the smaller edit goes first.
EQUAL_WITHIN: Final = 0.05
# However many causes are removed, some of the step is left.
MOST_REMOVABLE_SHARE: Final = 0.99


@dataclass(frozen=True, slots=True)
class Fired:
    rule: Rule
    evidence: Evidence
    gain: Gain | None


def worth_saying(fired: Fired) -> bool:
    """A notice always is. A change is when it is expected to save at least the threshold's share of the step."""
    return fired.gain is None or _expected(fired.gain) >= 1 / (1 - THRESHOLDS.worth_saying_share)


def ranked(fired: Iterable[Fired]) -> list[Fired]:
    return sorted(fired, key=_place)


def combined_gain(first: Fired, second: Fired, wait_share: float | None) -> Gain | None:
    """Shares of the step add up; two fixes for the same wait cannot remove more than that wait."""
    if first.gain is None or second.gain is None:
        return None
    same = first.rule.relieves is second.rule.relieves
    most = MOST_REMOVABLE_SHARE if not same or wait_share is None else wait_share
    high_share = min(most, _share(first.gain.high) + _share(second.gain.high))
    least_shares = (_share(first.gain.low), _share(second.gain.low))
    low_share = min(high_share, max(least_shares) if same else sum(least_shares))
    high = max(1 / (1 - min(high_share, MOST_REMOVABLE_SHARE)), first.gain.high, second.gain.high)
    low = max(1 / (1 - min(low_share, MOST_REMOVABLE_SHARE)), first.gain.low, second.gain.low)
    because = (
        f"{first.rule.code} and {second.rule.code} shorten the same part of the step"
        if same
        else f"{first.rule.code} and {second.rule.code} shorten different parts of the step"
    )
    return Gain(low, high, Basis.PREDICTED, because)


def _place(fired: Fired) -> tuple[bool, int, int, str]:
    gain = fired.gain
    if gain is None:
        return True, 0, fired.rule.edit_lines, fired.rule.code
    bucket = round(math.log(_expected(gain)) / math.log(1 + EQUAL_WITHIN))
    return False, -bucket, fired.rule.edit_lines, fired.rule.code


def _expected(gain: Gain) -> float:
    """The geometric mean of the range: the middle between two factors."""
    return math.sqrt(gain.low * gain.high)


def _share(factor: float) -> float:
    return 1 - 1 / factor
