"""What each variant adds to a step."""

from collections.abc import Mapping
from typing import Any

from benchmarks.pages.markdown import table, with_quartiles

HEAD = (
    "",
    "adds to the usual step, µs",
    "to the mean step, µs",
    "CPU of the training thread, µs",
    "of the usual step",
    "once per fit, ms",
    "compared with (pairs)",
)


def overhead_table(sizes: Mapping[str, Any]) -> str:
    """One workload: `sizes` is what a part stored under its name."""
    return table(HEAD, [_row(name, row) for name, row in sizes["variants"].items()])


def base_line(sizes: Mapping[str, Any]) -> str:
    base = sizes["variants"]["feedwatch"]["base"]
    unit, count = ("call", f" of {sizes['per_call']} batches") if sizes["per_call"] > 1 else ("step", "")
    return f"Without any callback a {unit}{count} takes {base['wall_us']:,.0f} µs; fits of {sizes['steps']} {unit}s."


def said_line(sizes: Mapping[str, Any]) -> str:
    said = sizes["says_of_itself_us"]
    return "" if said is None else f"feedwatch's own report says {said['median']:.1f} µs per step of itself."


def _row(name: str, row: Mapping[str, Any]) -> list[str]:
    adds = row["adds"]
    share = adds["median_wall_us"]["median"] / row["base"]["median_wall_us"]
    return [
        f"**{name}**" if name == "feedwatch" else name,
        with_quartiles(adds["median_wall_us"]),
        f"{adds['wall_us']['median']:+.1f}",
        f"{adds['thread_cpu_us']['median']:+.1f}",
        f"{100 * share:+.2f} %",
        f"{adds['once_ms']['median']:+.0f}",
        f"{row['against']} ({row['pairs']})",
    ]
