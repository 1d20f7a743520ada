"""The confusion table, for the terminal and for RESULTS.md alike."""

import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.zoo.verdicts import MORE_TURNS, Outcome
from feedwatch.probe.cpu_budget import cpu_budget

PACKAGES = ("tensorflow", "keras", "torch", "lightning", "numpy")
HEAD = ("case", "cause", "expected", "first finding", "correct", "predicted", "reached", "by the clock", "inside")


def render(outcomes: Sequence[Outcome], repeats: int, took_s: float, load_before: float) -> str:
    rows = [HEAD, tuple("---" for _ in HEAD), *(_row(one) for one in outcomes)]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return "\n\n".join(
        [
            "# Zoo: known causes, first findings, gains",
            _legend(repeats),
            table,
            totals(outcomes),
            machine(took_s, load_before),
        ]
    )


def totals(outcomes: Sequence[Outcome]) -> str:
    sick = [one for one in outcomes if one.expects]
    healthy = [one for one in outcomes if not one.expects]
    promised = [one for one in sick if one.promised]
    runs = [(code, one.expects) for one in sick for code in one.firsts]
    calm = [code for one in healthy for code in one.firsts]
    right = _share(sum(one.correct for one in sick), len(sick))
    right_runs = _share(sum(code == expected for code, expected in runs), len(runs))
    lines = [
        f"First finding correct: {right}; of single runs {right_runs}",
        f"False alarms on healthy runs: {sum(code is not None for code in calm)} of {len(calm)}",
        f"Gains inside the predicted range: {_share(sum(one.inside for one in promised), len(promised))}",
        f"Expected findings without a gain to hold: {', '.join(_silent(sick)) or 'none'}",
    ]
    return "\n".join(f"- {line}" for line in lines)


def machine(took_s: float, load_before: float) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{_cpu_model()}, {cpu_budget():g} CPUs, no GPU; {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, {versions}; load average before {load_before:.1f}, "
        f"at the end {os.getloadavg()[0]:.1f}; "
        f"{took_s / 60:.1f} minutes."
    )


def _legend(repeats: int) -> str:
    return (
        f"Every training ran {repeats} × as it is and {repeats} × with the advised fix, in turns, each in a process of "
        f"its own, and up to {repeats + MORE_TURNS} × where the turns disagreed; figures are medians. In cases that "
        "wait for data the step is a small net and a sleep in place of an accelerator: the CPUs belong to loading, as "
        "they do beside a GPU. Reached is the ratio of feedwatch's samples per second (for FW104, FW113, FW128 "
        "and FW308 of the run's wall time); by the clock is the same by the script's own clock. Made by `make zoo`."
    )


def _row(one: Outcome) -> tuple[str, ...]:
    agree = sum(code == one.first for code in one.firsts)
    first = f"{one.first or 'none'} ({agree}/{len(one.firsts)})"
    predicted = f"{one.low:.2f}–{one.high:.2f}×" if one.low is not None and one.high is not None else "–"
    inside = ("yes" if one.inside else "**no**") if one.promised else "–"
    correct = "yes" if one.correct else "**no**"
    expected = one.expects or "none"
    return (one.name, one.cause, expected, first, correct, predicted, _times(one.reached), _times(one.by_clock), inside)


def _times(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}×"


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.0f} %)" if whole else "none"


def _silent(sick: Sequence[Outcome]) -> list[str]:
    return [f"{one.expects} ({one.name})" for one in sick if not one.promised]


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
