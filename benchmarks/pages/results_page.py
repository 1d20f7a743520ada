"""benchmarks/RESULTS.md: everything that was measured."""

from collections.abc import Mapping
from typing import Any

from benchmarks.pages.accuracy_tables import scene_table, summary_table, xprof_table
from benchmarks.pages.markdown import machine_line, older_than_the_code, page, table
from benchmarks.pages.overhead_tables import LEGEND, base_line, overhead_table, said_line
from benchmarks.targets import targets

HEAD = """# Benchmark results

Made by `make bench` from `benchmarks/results.json`; not edited by hand. Overhead is measured in pairs: a fit with and a
fit without take turns in one process, some 50 ms each, and both models play both parts. The usual step is a fit's
median; its mean holds what happens now and then as well."""

NOISE = """\
± is one standard error of the median; *undecided* means that the distance to the goal is smaller than two of them.
Lightning and Hugging Face are judged by the CPU time of the training thread, Keras by the wall clock."""

FRAMEWORKS = {
    "keras": "Keras on TensorFlow",
    "lightning": "Lightning",
    "huggingface": "Hugging Face",
    "loop": "A plain PyTorch loop",
}
ACCURACY = {**FRAMEWORKS, "doors": "The other doors"}


def results_page(results: Mapping[str, Any]) -> str:
    parts = results["parts"]
    return page(
        HEAD,
        older_than_the_code(results),
        LEGEND,
        machine_line(results),
        _targets(results),
        *(_overhead(parts, key, name) for key, name in FRAMEWORKS.items()),
        _traceml(parts),
        _accuracy(parts),
        _xprof(parts),
        _scale(parts),
        _first_advice(parts),
    )


def _targets(results: Mapping[str, Any]) -> str:
    rows = [[each.what, each.goal, each.measured, bold(each.verdict)] for each in targets(results)]
    return "\n\n".join(["## Targets", NOISE, table(("", "goal", "measured", ""), rows)])


def bold(verdict: str) -> str:
    return verdict if verdict == "met" else f"**{verdict}**"


def _overhead(parts: Mapping[str, Any], key: str, name: str) -> str:
    part = parts.get(f"overhead_{key}")
    if part is None:
        return ""
    blocks = [f"## Overhead: {name}"]
    for size, sizes in part["figures"].items():
        blocks += [f"### Step: {size}", f"{base_line(sizes)} {said_line(sizes)}".strip(), overhead_table(sizes)]
    return "\n\n".join(blocks)


def _traceml(parts: Mapping[str, Any]) -> str:
    part = parts.get("traceml")
    if part is None:
        return ""
    figures, title = part["figures"], "## Overhead: TraceML"
    if "unavailable" in figures:
        return f"{title}\n\nNot measured: {figures['unavailable']}."
    intro = (
        f"TraceML {figures['version']} in an environment of its own. It joins a run that its launcher starts, so each "
        "variant is a process here, all started by that launcher; two processes take turns of some 50 ms."
    )
    blocks = [title, intro]
    for size, sizes in figures.get("overhead", {}).items():
        blocks += [f"### Step: {size}", base_line(sizes), overhead_table(sizes)]
    return "\n\n".join(blocks)


def _accuracy(parts: Mapping[str, Any]) -> str:
    groups = accuracy_groups(parts)
    intro = (
        "Scenes sleep or spin for known times and time themselves. Means per step, without the first three (TraceML: "
        "all steps, on both sides). *Callback gap*: from the end of a batch to the start of the next. *Residual*: a "
        "step's period less its measured batch time."
    )
    blocks = ["## Accuracy", intro, summary_table(groups)]
    for framework, scenes in groups.items():
        blocks += [f"### {framework}: every scene, errors in ms", scene_table(scenes)]
    return "\n\n".join(blocks) if groups else ""


def accuracy_groups(parts: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    groups = {name: parts.get(f"accuracy_{key}", {}).get("figures", {}).get("scenes") for key, name in ACCURACY.items()}
    groups["Lightning, TraceML's runs"] = parts.get("traceml", {}).get("figures", {}).get("scenes")
    return {name: scenes for name, scenes in groups.items() if scenes}


def _xprof(parts: Mapping[str, Any]) -> str:
    part = parts.get("xprof")
    if part is None:
        return ""
    figures, title = part["figures"], "## xprof's analyser on Keras runs"
    if "unavailable" in figures:
        return f"{title}\n\nNot measured: {figures['unavailable']}."
    intro = f"xprof {figures['version']} on windows of ten steps that Keras' TensorBoard callback recorded on the CPU."
    return "\n\n".join([title, intro, xprof_table(figures["scenes"])])


def _scale(parts: Mapping[str, Any]) -> str:
    if "scale" not in parts:
        return ""
    figures = parts["scale"]["figures"]
    steps = [
        [f"{row['steps']:,}", f"{row['growth_mb']:.2f}", f"{row['report_kb']:.1f}", _or_dash(row["digest_us_per_step"])]
        for row in figures["steps"]
    ]
    workers = [
        [str(row["workers"]), f"{row['fold_us_per_window']:.0f}", f"{row['us_per_5_ms_step']:.2f}"]
        for row in figures["workers"]
    ]
    ranks = [
        [
            f"{row['ranks']:,}",
            f"{row['seen']:,}",
            f"{row['files_mb']:.1f}",
            f"{row['seconds']:.2f}",
            f"{row['peak_growth_mb']:.0f}",
        ]
        for row in figures["ranks"]
    ]
    intro = "Simulated records, real code. Reading marks, digesting and folding happen on feedwatch's own thread."
    if "marks" in figures:
        append_ns, read_ns = (figures["marks"][name] for name in ("append_ns_per_step", "read_ns_per_step"))
        intro += (
            f" The seven marks of a step take {append_ns / 1000:.1f} µs to append in a loop, on the training thread, "
            f"and {read_ns / 1000:.1f} µs to read."
        )
    tables = [
        (("steps", "memory growth, MB", "report.json, kB", "digest, µs per step"), steps),
        (("loader workers", "table read and folded, µs per window", "per 5 ms step, µs"), workers),
        (("ranks", "read and merged", "files, MB", "seconds", "peak memory growth, MB"), ranks),
        *_newer_scales(figures),
    ]
    return "\n\n".join(["## Scale", intro, *(table(head, rows) for head, rows in tables)])


def _newer_scales(figures: Mapping[str, Any]) -> list[tuple[tuple[str, ...], list[list[str]]]]:
    wanted = {
        "actions": {
            "hooks timed in a step": "actions",
            "marks taken, µs": "append_us_per_step",
            "marks read, µs": "read_us_per_step",
            "memory growth, MB": "growth_mb",
        },
        "stages": {
            "stages of a tf.data graph": "stages",
            "first look, ms": "first_ms",
            "each window, ms": "ms_per_window",
            "stages seen": "seen",
        },
        "runs": {
            "runs in TensorBoard": "runs",
            "until all are listed, s": "listed_s",
            "one look at the list, ms": "look_ms",
            "answer, kB": "answer_kb",
            "memory growth, MB": "growth_mb",
        },
    }
    return [
        (tuple(columns), [[f"{row[name]:,}" for name in columns.values()] for row in figures[key]])
        for key, columns in wanted.items()
        if key in figures
    ]


def _first_advice(parts: Mapping[str, Any]) -> str:
    if "first_advice" not in parts:
        return ""
    rows = []
    for key, seen in parts["first_advice"]["figures"].items():
        name = FRAMEWORKS[key]
        if seen is None:
            rows.append([name, "no advice came", "", "", ""])
            continue
        times = [f"{seen['seconds']:.2f}", f"{seen['seconds_from_the_first_step']:.2f}"]
        rows.append(
            [name, f"{seen['steps']:.0f}", *times, f"{seen['finding']} ({seen['with_advice']} of {seen['runs']})"]
        )
    head = ("", "steps", "seconds from the start of fit", "seconds from the end of the first step", "finding (runs)")
    intro = "A training that waits 30 ms for every 5 ms of compute, from its first step on; medians, fresh processes."
    return "\n\n".join(["## Time to the first advice", intro, table(head, rows)])


def _or_dash(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
