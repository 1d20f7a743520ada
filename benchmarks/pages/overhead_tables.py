"""What each variant adds to a step."""

from collections.abc import Mapping
from typing import Any

from benchmarks.pages.markdown import table
from benchmarks.targets import added

LEGEND = """\
Figures are medians of paired differences with one standard error (±). *No difference (± x)*: none above the noise of
two standard errors; x is how far such a measurement is off by chance. A cost below zero is noise, too, never a gain."""

HEAD = (
    "",
    "adds to the usual step, µs",
    "to the mean step, µs",
    "CPU of the training thread, µs",
    "once per fit, ms",
    "compared with (pairs)",
)


def overhead_table(sizes: Mapping[str, Any]) -> str:
    """One workload: `sizes` is what a part stored under its name."""
    return table(HEAD, [_row(sizes, name) for name in sizes["variants"]])


def base_line(sizes: Mapping[str, Any]) -> str:
    base = sizes["variants"]["feedwatch"]["base"]
    unit, count = ("call", f" of {sizes['per_call']} batches") if sizes["per_call"] > 1 else ("step", "")
    return f"Without feedwatch a {unit}{count} takes {base['wall_us']:,.0f} µs; fits of {sizes['steps']} {unit}s."


def said_line(sizes: Mapping[str, Any]) -> str:
    said = sizes["says_of_itself_us"]
    return "" if said is None else f"feedwatch's own report says {said['median']:.1f} µs per step of itself."


def _row(sizes: Mapping[str, Any], name: str) -> list[str]:
    row = sizes["variants"][name]
    usual = added(sizes, name, "median_wall_us")
    share = f" ({100 * usual.value / row['base']['median_wall_us']:.1f} %)" if usual.seen else ""
    return [
        f"**{name}**" if name == "feedwatch" else name,
        usual.cost() + share,
        added(sizes, name, "wall_us").cost(),
        added(sizes, name, "thread_cpu_us").cost(),
        added(sizes, name, "once_ms").cost(0),
        f"{row['against']} ({row['pairs']})",
    ]
