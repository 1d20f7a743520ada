"""Numbers as people read them, the same in every place: console, Markdown, advice, trace table, tab and HTML file.

The limits, digits and units stand in one table. The functions here read it; the tab's `words.js` reads the same table
in the browser. At most three significant figures, no zeros behind the last digit, and unknown is "not measured",
never 0.
"""

import math
from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

from feedwatch.model.account import EPOCH_START, GAP, VALIDATION
from feedwatch.model.steps import COMPUTE, H2D, INPUT_WAIT, OTHER
from feedwatch.model.verdict import Gain

NOT_MEASURED: Final = "not measured"

PHASE_NAMES: Final = {INPUT_WAIT: "input wait", H2D: "copy to device", COMPUTE: "compute", OTHER: "other"}

# What is no part of a usual step, but of the run.
ASIDE_NAMES: Final = {EPOCH_START: "epoch starts", VALIDATION: "validation", GAP: "between epochs"}

# No quantity of ours is larger. A larger number comes from a damaged or hostile report.
LARGEST: Final = 1e15


@dataclass(frozen=True, slots=True)
class Row:
    """How to print values from `least` on."""

    least: float  # in the unit that the function takes
    per: float  # the printed unit, in the unit that the function takes
    digits: int  # at most, behind the point
    unit: str


@dataclass(frozen=True, slots=True)
class Rule:
    """How to print one kind of quantity."""

    rows: tuple[Row, ...]  # the largest first
    zero: str
    smallest: float = 0.0  # a smaller value that is not zero reads "< smallest"
    below_zero: bool = False  # a time or a size below zero was not measured


def _three_figures(unit: str, per: float = 1.0) -> tuple[Row, ...]:
    """123, 12.3 and 1.23. The limits are those of rounding: 99.96 would print as 100.0."""
    return Row(99.95 * per, per, 0, unit), Row(9.995 * per, per, 1, unit), Row(0.9995 * per, per, 2, unit)


TIME: Final = "time"  # takes milliseconds
SHARE: Final = "share"  # takes 0..1
POINTS: Final = "points"  # takes the difference of two shares
FACTOR: Final = "factor"
SIZE: Final = "size"  # takes bytes
RATE: Final = "rate"  # takes GB/s
NUMBER: Final = "number"

RULES: Final = {
    TIME: Rule(
        rows=(
            Row(3_597_000.0, 3_600_000.0, 1, " h"),
            Row(59_950.0, 60_000.0, 1, " min"),
            Row(9995.0, 1000.0, 1, " s"),
            Row(999.5, 1000.0, 2, " s"),
            Row(99.95, 1.0, 0, " ms"),
            Row(0.9995, 1.0, 1, " ms"),
            Row(0.00995, 0.001, 0, " µs"),
            Row(0.0, 0.001, 1, " µs"),
        ),
        zero="0 ms",
        smallest=0.0001,
    ),
    SHARE: Rule((Row(0.0995, 0.01, 0, " %"), Row(0.0, 0.01, 1, " %")), "0 %", smallest=0.001, below_zero=True),
    POINTS: Rule(
        (Row(0.0995, 0.01, 0, " points"), Row(0.0, 0.01, 1, " points")), "0 points", smallest=0.001, below_zero=True
    ),
    FACTOR: Rule((*_three_figures("×"), Row(0.0, 1.0, 2, "×")), "0×", smallest=0.01),
    SIZE: Rule(
        rows=(
            *_three_figures(" TB", 1e12),
            *_three_figures(" GB", 1e9),
            *_three_figures(" MB", 1e6),
            *_three_figures(" KB", 1e3),
            Row(0.0, 1.0, 0, " B"),
        ),
        zero="0 B",
        smallest=1.0,
    ),
    RATE: Rule((*_three_figures(" GB/s"), Row(0.0, 1.0, 2, " GB/s")), "0 GB/s", smallest=0.01),
    NUMBER: Rule((*_three_figures(""), Row(0.0, 1.0, 3, "")), "0", smallest=0.001, below_zero=True),
}


def table() -> dict[str, Any]:
    """What `words.js` reads, as plain values."""
    return {
        "not_measured": NOT_MEASURED,
        "largest": LARGEST,
        "phases": PHASE_NAMES,
        "aside": ASIDE_NAMES,
        "rules": {name: asdict(rule) for name, rule in RULES.items()},
    }


def ms(value_ms: float | None) -> str:
    return _text(TIME, value_ms)


def seconds(value_s: float | None) -> str:
    return _text(TIME, None if value_s is None else value_s * 1000.0)


def percent(share: float | None) -> str:
    return _text(SHARE, share)


def change(ratio: float | None) -> str:
    """Of a quantity, as a part of what it was: +71 %, −4.3 %."""
    return _signed(SHARE, ratio)


def points(difference: float | None) -> str:
    """Of a share: from 54 % to 19 % are −35 points, but −65 % of what it was."""
    return _signed(POINTS, difference)


def times(factor: float | None) -> str:
    return _text(FACTOR, factor)


def times_between(low: float, high: float) -> str:
    """1.75–2.1×"""
    first, last = times(low), times(high)
    return last if first == last else f"{first.removesuffix('×')}–{last}"


def gain_text(gain: Gain | None) -> str:
    """A trial may end before it can tell: an interval around 1 is no gain yet."""
    if gain is None:
        return "no gain by itself"
    faster = "faster" if gain.low >= 1 else "as fast (undecided)"
    return f"{times_between(gain.low, gain.high)} {faster}, {gain.basis.value}"


def size(value_bytes: float | None) -> str:
    return _text(SIZE, value_bytes)


def rate(gb_per_s: float | None) -> str:
    return _text(RATE, gb_per_s)


def number(value: float | None) -> str:
    return _text(NUMBER, value)


def count(value: float | None, noun: str, plural: str | None = None) -> str:
    """1 worker, 2 workers, 1.5 CPUs, 3 batches."""
    shown = number(value)
    if shown == NOT_MEASURED:
        return shown
    return f"{shown} {noun}" if shown == "1" else f"{shown} {plural or noun + 's'}"


def _signed(name: str, value: float | None) -> str:
    text = _text(name, value)
    return f"+{text}" if value is not None and value > 0 and text[0].isdigit() else text


def _text(name: str, value: float | None) -> str:
    rule = RULES[name]
    if value is None or not math.isfinite(value) or abs(value) >= LARGEST or (value < 0 and not rule.below_zero):
        return NOT_MEASURED
    if value == 0:
        return rule.zero
    amount = abs(value)
    if amount < rule.smallest:
        return f"< {_text(name, rule.smallest)}"
    row = next(row for row in rule.rows if amount >= row.least)
    return f"{'−' if value < 0 else ''}{_rounded(amount / row.per, row.digits)}{row.unit}"


def _rounded(value: float, digits: int) -> str:
    """Halves go up, as in the browser: Python's own format would round 12.5 to 12."""
    shown = f"{Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):,f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown
