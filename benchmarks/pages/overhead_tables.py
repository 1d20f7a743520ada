"""What each variant adds to a step."""

from collections.abc import Mapping
from typing import Any

from benchmarks.pages.markdown import table, with_quartiles

HEAD = ("", "adds per step, µs", "CPU of the training thread, µs", "of the step", "once per fit, ms", "compared with")


def overhead_table(sizes: Mapping[str, Any]) -> str:
    """One workload: `sizes` is what a part stored under its name."""
    return table(HEAD, [_row(name, row, sizes) for name, row in sizes["variants"].items() if "adds" in row])


def base_line(sizes: Mapping[str, Any]) -> str:
    base = next(iter(sizes["variants"].values()))["is"]
    per_call = f", {sizes['per_call']} batches per call" if sizes["per_call"] > 1 else ""
    return (
        f"Without any callback the step takes {base['wall_us']:,.0f} µs{per_call}; "
        f"{sizes['rounds']} rounds of {sizes['steps']} steps."
    )


def said_line(sizes: Mapping[str, Any]) -> str:
    said = sizes["says_of_itself_us"]
    return "" if said is None else f"feedwatch's own report says {said['median']:.1f} µs per step of itself."


def _row(name: str, row: Mapping[str, Any], sizes: Mapping[str, Any]) -> list[str]:
    adds, base = row["adds"], sizes["variants"][row["against"]]["is"]
    share = adds["wall_us"]["median"] / base["wall_us"]
    return [
        f"**{name}**" if name == "feedwatch" else name,
        with_quartiles(adds["wall_us"]),
        f"{adds['thread_cpu_us']['median']:+.1f}",
        f"{100 * share:+.2f} %",
        f"{adds['once_ms']['median']:+.0f}",
        row["against"],
    ]
