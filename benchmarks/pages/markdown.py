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
    ours = " and ".join(sorted({part["feedwatch"] for part in parts}))
    versions = ", ".join(f"{name} {version}" for name, version in seen["versions"].items())
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return (
        f"Measured {when} on {seen['cpu']}, {seen['cpus']:g} CPUs, GPU: {seen['gpu']}; {seen['system']}, "
        f"Python {seen['python']}, feedwatch {ours}, {versions}. "
        f"Load average before the parts: {loads[0]:.1f} to {loads[-1]:.1f}."
    )


TITLES = {
    "overhead_keras": "overhead on Keras",
    "overhead_lightning": "overhead on Lightning",
    "overhead_huggingface": "overhead on Hugging Face",
    "overhead_loop": "overhead in a plain loop",
    "accuracy_doors": "accuracy of the other doors",
    "accuracy_keras": "accuracy on Keras",
    "accuracy_lightning": "accuracy on Lightning",
    "scale": "scale",
    "first_advice": "time to the first advice",
    "traceml": "TraceML",
    "xprof": "xprof",
    "rivals": "advice of other tools",
}


def older_than_the_code(results: Mapping[str, Any], *keys: str) -> str:
    """Of the parts that a page shows (all, where none is named). Empty: made with the code that stands beside them."""
    old = {
        key: part["feedwatch"]
        for key, part in results["parts"].items()
        if part["feedwatch"] != __version__ and (not keys or key in keys)
    }
    if not old:
        return ""
    named = ", ".join(f"{TITLES[key]} ({version})" for key, version in old.items())
    return (
        f"> **Older than the code.** This is feedwatch {__version__}; measured with an older one and not again: "
        f"{named}. `make bench` on a quiet machine does."
    )
