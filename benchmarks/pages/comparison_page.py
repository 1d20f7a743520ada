"""docs/comparison.md: what else one could use, measured on the same workloads, and where it is the better choice."""

from collections.abc import Mapping
from math import sqrt
from typing import Any

from benchmarks.pages.accuracy_tables import summary_table, xprof_table
from benchmarks.pages.features import ALSO, BETTER, FEATURES, TOOLS
from benchmarks.pages.markdown import machine_line, older_than_the_code, page, table
from benchmarks.pages.overhead_tables import LEGEND, base_line, overhead_table
from benchmarks.pages.results_page import FRAMEWORKS, accuracy_groups
from benchmarks.targets import BARE, EMPTY, NOISE_ERRORS, OURS, Estimate, added

HEAD = """# feedwatch and what you could use instead

The table of features is read from the sources of the versions named. The figures are made by `make bench` and not
edited by hand; all of them are in [benchmarks/RESULTS.md](https://github.com/feedwatch/feedwatch/blob/main/benchmarks/RESULTS.md)."""

ZOO = "https://github.com/feedwatch/feedwatch/blob/main/benchmarks/zoo/RESULTS.md"
ADVISERS = ("Lightning", "TraceML", "feedwatch")
CLOCK = "median_wall_us"  # the usual step: few pairs are enough to tell tools apart


def comparison_page(results: Mapping[str, Any]) -> str:
    parts = results["parts"]
    return page(
        HEAD,
        older_than_the_code(results),
        "## Features\n\n" + table(("", *TOOLS), FEATURES),
        "## Where another tool is the better choice\n\n" + BETTER,
        _cheaper(parts),
        _overhead(parts),
        _advice(parts),
        _accuracy(parts),
        _xprof(parts),
        "## Also looked at\n\n" + ALSO,
        machine_line(results),
    )


def cheaper_tools(parts: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Tools that added less to a step than feedwatch, and those that cannot be told from it, said by the figures."""
    cheaper: list[str] = []
    alike: list[str] = []
    for where, sizes in _workloads(parts):
        ours = added(sizes, OURS, CLOCK)
        for name in sizes["variants"]:
            if name in (EMPTY, BARE) or name.startswith(OURS):
                continue
            theirs = added(sizes, name, CLOCK)
            if _told_apart(ours, theirs):
                said = f"- {where}: {name} adds {theirs.cost()} µs per step, feedwatch {ours.cost()} µs."
                cheaper += [said] if theirs.value < ours.value else []
            else:
                alike.append(f"{name} ({where})")
    return cheaper, alike


def _workloads(parts: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    found = [
        (f"{name}, {size} step", sizes)
        for key, name in FRAMEWORKS.items()
        for size, sizes in parts.get(f"overhead_{key}", {}).get("figures", {}).items()
    ]
    under_traceml = parts.get("traceml", {}).get("figures", {}).get("overhead", {})
    return found + [
        (f"Lightning under TraceML's launcher, {size} step", sizes) for size, sizes in under_traceml.items()
    ]


def _told_apart(one: Estimate, other: Estimate) -> bool:
    """A cost below zero counts as none: it would rank a tool by luck."""
    distance = abs(max(0.0, one.value) - max(0.0, other.value))
    return distance > NOISE_ERRORS * sqrt(one.noise**2 + other.noise**2)


def _cheaper(parts: Mapping[str, Any]) -> str:
    cheaper, alike = cheaper_tools(parts)
    said = ["### Tools that cost less per step"]
    said.append("\n".join(cheaper) if cheaper else "None of those measured, above the noise.")
    if alike:
        said.append(f"No difference from feedwatch above the noise: {', '.join(alike)}.")
    return "\n\n".join(said)


def _overhead(parts: Mapping[str, Any]) -> str:
    blocks = ["## Measured: what each adds to a step", LEGEND]
    for key, name in FRAMEWORKS.items():
        sizes = parts.get(f"overhead_{key}", {}).get("figures", {}).get("tiny")
        if sizes is not None:
            blocks += [f"### {name}, a tiny step", base_line(sizes), overhead_table(sizes)]
    traceml = parts.get("traceml", {}).get("figures", {})
    if "unavailable" in traceml:
        blocks.append(f"TraceML was not measured: {traceml['unavailable']}.")
    elif "tiny" in traceml.get("overhead", {}):
        sizes = traceml["overhead"]["tiny"]
        intro = "Each variant a process, all started by TraceML's launcher in TraceML's environment."
        blocks += ["### Lightning with TraceML, a tiny step", f"{base_line(sizes)} {intro}", overhead_table(sizes)]
    return "\n\n".join(blocks)


def _advice(parts: Mapping[str, Any]) -> str:
    figures = parts.get("rivals", {}).get("figures")
    if figures is None:
        return ""
    if "unavailable" in figures:
        return f"## Measured: advice, and what following it gains\n\nNot measured: {figures['unavailable']}."
    rows = [
        [row["script"].removeprefix("lightning-"), f"{row['step_ms']:.1f}", *(_told(row, tool) for tool in ADVISERS)]
        for row in figures["scripts"].values()
    ]
    intro = (
        f"Scripts of the [zoo]({ZOO}), each with one known cause, under each tool. In brackets the speed by its "
        "own clock after the advice was followed, as a factor of the speed before (medians, in turns): for Lightning's "
        f"hint and for TraceML {figures['version']} with more workers (the number in the hint; TraceML names none: one "
        "more per CPU), for feedwatch with its fix. Lightning: SimpleProfiler's table and Lightning's hints."
    )
    return "\n\n".join(
        ["## Measured: advice, and what following it gains", intro, table(("script", "step, ms", *ADVISERS), rows)]
    )


def _told(row: Mapping[str, Any], tool: str) -> str:
    gain = row["gains"].get(tool)
    return row["says"][tool] + ("" if gain is None else f" (**{gain:.2f}×**)")


def _accuracy(parts: Mapping[str, Any]) -> str:
    groups = accuracy_groups(parts)
    intro = (
        "Trainings that sleep or spin for known times, time themselves and are asked by each tool: a grid of input and "
        "compute times, with and without workers, with validation, checkpoints, a slow callback and a slow copy. "
        "*Callback gap* and *residual* are what people write themselves: on Keras with TensorFlow the fetch happens "
        "inside the train function, where no callback sees it."
    )
    return "\n\n".join(["## Measured: how far from the truth", intro, summary_table(groups)]) if groups else ""


def _xprof(parts: Mapping[str, Any]) -> str:
    figures = parts.get("xprof", {}).get("figures")
    if figures is None:
        return ""
    if "unavailable" in figures:
        return f"xprof was not measured: {figures['unavailable']}."
    intro = (
        f"xprof {figures['version']} on the same kind of run, a window of ten steps on the CPU. The pipeline's time "
        "per batch is what it worked, not what the step waited for."
    )
    return f"{intro}\n\n{xprof_table(figures['scenes'])}"
