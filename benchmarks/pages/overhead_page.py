"""docs/overhead.md: what feedwatch costs, for somebody who decides whether to leave it on."""

from collections.abc import Mapping
from typing import Any

from benchmarks.contest import MEANING
from benchmarks.pages.markdown import machine_line, older_than_the_code, page, table
from benchmarks.pages.overhead_tables import LEGEND, base_line, overhead_table, said_line, step_title
from benchmarks.pages.results_page import FRAMEWORKS, NOISE, bold
from benchmarks.targets import OURS, targets

HEAD = """# What feedwatch costs

Made by `make bench`; not edited by hand. All figures: [benchmarks/RESULTS.md](https://github.com/feedwatch/feedwatch/blob/main/benchmarks/RESULTS.md).

Every report holds feedwatch's own cost in *this* run on *your* machine: `self.us_per_step` on the training thread, and
`self.overhead_ratio`, the share of the time at most: with the CPU time of feedwatch's own thread added, which training
loses only where both want Python's lock (in tiny steps; hardly in long ones). The figures below come from outside: the
same fit with and without a callback, in turns, in one process. A step of half a millisecond is shown because the cost
is easiest to see there; nobody trains such a model for long."""

SAID_BEFORE = """\
What feedwatch says of itself in these rows is older than what it says now: what Lightning takes to call its hooks, and
what the end of training waits for, have come in since then. That was not measured again."""

NO_SINK = "feedwatch, its thread idle"
SUSPECTS = """\
One row for each suspect switched off: feedwatch's own thread throws away what it is given, or the items are not timed.
*No callback* against itself is what such a measurement is off by when there is nothing to find."""

WHERE = """## Where the cost is

On the training thread feedwatch takes marks and, about once a second, hands a window over without waiting. On Keras
with TensorFlow two timestamps and a row in a queue are part of the train function's graph; that does not grow with the
model. Once a second they are paired with the marks, 3 to 4 µs per step. Folding, rules and files are the work of one
other thread.

The *once per fit* column is what the beginning and the end of `fit` take longer: attaching, the last report, files.
Profiler windows are off on machines without a GPU and are not in these figures."""


def overhead_page(results: Mapping[str, Any]) -> str:
    return page(
        HEAD,
        older_than_the_code(results, *(f"overhead_{key}" for key in FRAMEWORKS), "scale"),
        _promises(results),
        "## Measured\n\n" + LEGEND,
        *_tables(results["parts"]),
        WHERE,
        _beside_the_usual_step(results["parts"]),
        _large(results["parts"]),
        machine_line(results),
    )


def _promises(results: Mapping[str, Any]) -> str:
    rows = [[each.what, each.goal, each.measured, bold(each.verdict)] for each in targets(results)]
    blocks = ["## Promised and measured", NOISE, table(("", "promised", "measured", ""), rows)]
    said = [part["figures"].get("tiny", {}).get("says_of_itself") for part in results["parts"].values()]
    blocks += [SAID_BEFORE] if any(each and each.get("meaning") != MEANING for each in said) else []
    return "\n\n".join(blocks)


def _tables(parts: Mapping[str, Any]) -> list[str]:
    blocks = []
    for key, name in FRAMEWORKS.items():
        for size, sizes in parts.get(f"overhead_{key}", {}).get("figures", {}).items():
            blocks += [
                f"### {name}, {step_title(size)}",
                f"{base_line(sizes)} {said_line(sizes)}".strip(),
                overhead_table(sizes),
                SUSPECTS if NO_SINK in sizes["variants"] else "",
            ]
    return blocks


def _beside_the_usual_step(parts: Mapping[str, Any]) -> str:
    """The same milliseconds in every fit, however many steps it has, are no cost of a step."""
    sums_ms = [
        (adds["wall_us"]["median"] - adds["median_wall_us"]["median"]) * sizes["steps"] / 1000
        for key in FRAMEWORKS
        for sizes in parts.get(f"overhead_{key}", {}).get("figures", {}).values()
        if "steps" in sizes
        for adds in [sizes["variants"][OURS]["adds"]]
    ]
    if not sums_ms:
        return ""
    return (
        "What the mean step holds beside the usual one adds up to "
        f"{min(sums_ms):.0f} to {max(sums_ms):.0f} ms per fit in the tables above. These fits last one to two seconds; "
        "in that time feedwatch's own thread loads its rules, reads the code of the data set and makes the first "
        "windows and the first report. A longer run was not measured."
    )


def _large(parts: Mapping[str, Any]) -> str:
    if "scale" not in parts:
        return ""
    figures = parts["scale"]["figures"]
    steps, workers, ranks = figures["steps"][-1], figures["workers"][-1], figures["ranks"][-1]
    return (
        "## Large runs\n\n"
        f"{steps['steps']:,} steps grow memory by {steps['growth_mb']:.1f} MB and leave a report of "
        f"{steps['report_kb']:.0f} kB. The table of {workers['workers']} DataLoader workers takes "
        f"{workers['fold_us_per_window'] / 1000:.1f} ms per window, on feedwatch's own thread. "
        f"{_ranks(ranks)} (Simulated records and files.)"
        f"{_real_readers(figures)} Load average before: {parts['scale']['load_average_before']:.1f}; above 1 times are "
        "longer than on a quiet machine, memory is not.\n\n![Growth of cost and memory](charts/scale.svg)"
    )


def _ranks(row: Mapping[str, Any]) -> str:
    """A reader stops after ten seconds (docs/limits.md): what it did not read was not merged."""
    count, seen, took = f"{row['ranks']:,}", row["seen"], f"{row['seconds']:.1f} s"
    if seen == row["ranks"]:
        return f"The reports of {count} ranks are read and merged in {took}."
    return f"Of the reports of {count} ranks {seen:,} were read in {took}, which is the reader's limit."


def _real_readers(figures: Mapping[str, Any]) -> str:
    if "stages" not in figures or "runs" not in figures:
        return ""
    stages, runs, actions = (figures[name][-1] for name in ("stages", "runs", "actions"))
    return (
        f" A step in which {actions['actions']:,} hooks of callbacks are timed costs "
        f"{actions['append_us_per_step'] / 1000:.1f} ms of marks on the training thread. A tf.data graph of "
        f"{stages['stages']} stages is first read in {stages['first_ms']:.0f} ms and then in "
        f"{stages['ms_per_window']:.0f} ms per window, on a thread of its own. TensorBoard lists {runs['runs']} runs "
        f"after {runs['listed_s']:.1f} s and answers a look at the list in {runs['look_ms']:.0f} ms."
    )
