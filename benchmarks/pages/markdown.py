"""Tables and numbers, as all pages write them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page(*blocks: str) -> str:
    return "\n\n".join(block for block in blocks if block) + "\n"


def signed(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:+.{digits}f}"


def number(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def with_quartiles(spread: Mapping[str, float], digits: int = 1) -> str:
    return f"{spread['median']:+.{digits}f} ({spread['low']:+.{digits}f} … {spread['high']:+.{digits}f})"


def machine_line(results: Mapping[str, Any]) -> str:
    """Where and when; every figure belongs to a machine."""
    seen = results["machine"]
    parts = results["parts"].values()
    dates = sorted({part["date"] for part in parts})
    loads = sorted(part["load_average_before"] for part in parts)
    versions = ", ".join(f"{name} {version}" for name, version in seen["versions"].items())
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return (
        f"Measured {when} on {seen['cpu']}, {seen['cpus']:g} CPUs, GPU: {seen['gpu']}; {seen['system']}, "
        f"Python {seen['python']}, {versions}. Load average before the parts: {loads[0]:.1f} to {loads[-1]:.1f}."
    )
