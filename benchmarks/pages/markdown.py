"""Tables and numbers, as all pages write them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from feedwatch import __version__


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page(*blocks: str) -> str:
    return "\n\n".join(block for block in blocks if block) + "\n"


def signed(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:+.{digits}f}"


def number(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


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


def older_than_the_code(results: Mapping[str, Any]) -> str:
    """Empty when the figures were made with the code that stands beside them."""
    made_with = results["machine"]["versions"]["feedwatch"]
    if made_with == __version__:
        return ""
    newer = [key for key, part in results["parts"].items() if part.get("feedwatch") == __version__]
    return (
        f"> **Older than the code.** These figures were made with feedwatch {made_with}; this is {__version__}, and "
        "what it costs has not been measured again. `make bench` on a quiet machine does."
        + (f" Made with this version: {', '.join(newer)}." if newer else "")
    )
