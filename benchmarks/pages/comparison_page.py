"""docs/comparison.md: what else one could use, measured on the same workloads, and where it is the better choice."""

from collections.abc import Mapping
from typing import Any

from benchmarks.pages.accuracy_tables import summary_table, xprof_table
from benchmarks.pages.features import ALSO, BETTER, FEATURES, TOOLS
from benchmarks.pages.markdown import machine_line, page, table
from benchmarks.pages.overhead_tables import base_line, overhead_table
from benchmarks.pages.results_page import FRAMEWORKS, accuracy_groups
from benchmarks.targets import EMPTY, OURS, added

HEAD = """# feedwatch and what you could use instead

The table of features is read from the sources of the versions named. The figures are made by `make bench` and not
edited by hand; all of them are in [benchmarks/RESULTS.md](../benchmarks/RESULTS.md)."""

CLOCK = "median_wall_us"  # the usual step: few pairs are enough to tell tools apart


def comparison_page(results: Mapping[str, Any]) -> str:
    parts = results["parts"]
    return page(
        HEAD,
        "## Features\n\n" + table(("", *TOOLS), FEATURES),
        "## Where another tool is the better choice\n\n" + BETTER,
        _cheaper(parts),
        _overhead(parts),
        _accuracy(parts),
        _xprof(parts),
        "## Also looked at\n\n" + ALSO,
        machine_line(results),
    )


def cheaper_tools(parts: Mapping[str, Any]) -> list[str]:
    """Every tool that added less to a step than feedwatch did, said by the figures themselves."""
    found = []
    for key, name in FRAMEWORKS.items():
        for size, sizes in parts.get(f"overhead_{key}", {}).get("figures", {}).items():
            found += _cheaper_in(sizes, f"{name}, {size} step")
    for size, sizes in parts.get("traceml", {}).get("figures", {}).get("overhead", {}).items():
        found += _cheaper_in(sizes, f"Lightning under TraceML's launcher, {size} step")
    return found


def _cheaper_in(sizes: Mapping[str, Any], where: str) -> list[str]:
    ours = added(sizes, OURS, CLOCK)
    rivals = {name: added(sizes, name, CLOCK) for name in sizes["variants"] if name not in (OURS, EMPTY)}
    return [
        f"- {where}: {name} adds {rival.text()} per step, feedwatch {ours.text()}."
        for name, rival in rivals.items()
        if rival.value < ours.value
    ]


def _cheaper(parts: Mapping[str, Any]) -> str:
    found = cheaper_tools(parts)
    said = "\n".join(found) if found else "In these measurements none added less to a step than feedwatch."
    return "### Tools that cost less per step\n\n" + said


def _overhead(parts: Mapping[str, Any]) -> str:
    blocks = ["## Measured: what each adds to a step"]
    for key, name in FRAMEWORKS.items():
        sizes = parts.get(f"overhead_{key}", {}).get("figures", {}).get("tiny")
        if sizes is not None:
            blocks += [f"### {name}, a tiny step", base_line(sizes), overhead_table(sizes)]
    traceml = parts.get("traceml", {}).get("figures", {})
    if "unavailable" in traceml:
        blocks.append(f"TraceML was not measured: {traceml['unavailable']}.")
    elif traceml:
        sizes = traceml["overhead"]["tiny"]
        intro = "Each variant a process, all started by TraceML's launcher in TraceML's environment."
        blocks += ["### Lightning with TraceML, a tiny step", f"{base_line(sizes)} {intro}", overhead_table(sizes)]
    return "\n\n".join(blocks)


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
