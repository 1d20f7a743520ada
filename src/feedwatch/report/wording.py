"""Numbers as people read them. Unknown is "not measured", never 0."""

from typing import Final

from feedwatch.model.verdict import Gain

NOT_MEASURED: Final = "not measured"


def milliseconds(value: float | None) -> str:
    if value is None:
        return NOT_MEASURED
    if value >= 1000:
        return f"{value / 1000:.2f} s"
    if value >= 100:
        return f"{value:.0f} ms"
    return f"{value:.1f} ms" if value >= 1 else f"{value * 1000:.0f} µs"


def percent(share: float | None) -> str:
    if share is None:
        return NOT_MEASURED
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def amount(value: float | None) -> str:
    if value is None:
        return NOT_MEASURED
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def factor(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value:.2f}×"


def gain_text(gain: Gain | None) -> str:
    if gain is None:
        return "no gain by itself"
    low, high = f"{gain.low:.2f}", f"{gain.high:.2f}"
    return f"{low}× faster, {gain.basis.value}" if low == high else f"{low}–{high}× faster, {gain.basis.value}"
