"""report.json field by field: what each means, and a JSON Schema made of the report's own classes.

`docs/report-schema.json` and `docs/report-json.md` are written from here (tools/render_report_schema.py).
"""

import types
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from feedwatch.model.report import SCHEMA, Report

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_PLAIN: Final = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}

# In the order of the report. Every field of every class stands here once; a test compares.
FIELDS: Final[dict[str, dict[str, str]]] = {
    "Report": {
        "schema": "Number of this format. It changes when a field goes or gets another meaning, not when one is added.",
        "feedwatch": "Version of feedwatch that wrote the report.",
        "status": "How the run ended, or running. A process that was killed stays running.",
        "run": "What ran, and where.",
        "clock": "Whose waiting the figures tell: of the device, where its own clock could be read, else of the host.",
        "steps": "How many steps stand behind the figures.",
        "verdict": "What bounds the run, in one sentence and in numbers.",
        "phases": "Times of a steady step: input_wait, h2d (copy to the device), compute, other. null: not measured.",
        "startup": "The start of the run, which happens once.",
        "epoch_boundary": "What lies between two epochs.",
        "series": "The run's history, at most 400 points; the lists of numbers are of one length.",
        "pipeline": "The input pipeline as it was read.",
        "transfers": "Copies to the device, from profiler windows. null: no window was taken.",
        "device": "The GPU as NVML and profiler windows saw it. null: there is none, or it cannot be asked.",
        "host": "The machine.",
        "findings": "What to change, the best first. Empty: nothing is known that gains 5 % or more.",
        "self": "What feedwatch itself cost, and what it could not measure.",
        "ranks": "All ranks of the run together, where several files were read. null: one process.",
        "account": "Wall time from the first steady step on, per batch. null before that step, and in schema 1.",
        "model": "Whether the model behind the predicted gains explains the run. null: the input was not modelled.",
        "trial": "What was measured with the input changed, in turns with the run as it is. null: no trial was made.",
        "timeline": "A few steps as they were, moment by moment, 20 kB at most. null: none was kept.",
    },
    "RunSection": {
        "framework": "keras, lightning, huggingface, torch; tensorflow or jax for a loop of one's own with Keras.",
        "version": "Of the framework.",
        "backend": "tensorflow, torch or jax.",
        "device": "The device that was trained on, with its name.",
        "rank": "Of this process.",
        "world_size": "Number of processes that train together.",
        "started": "Seconds since 1970.",
        "updated": "Seconds since 1970: when this report was written.",
    },
    "StepsSection": {
        "measured": "Steady steps that the figures are made of.",
        "warmup": "First steps, which are left out.",
        "dropped": "Marks and steps that could not be attributed.",
        "batches": "Batches trained, of every kind.",
        "samples": "Samples trained. null: not known.",
    },
    "Verdict": {
        "bound": "What limits the run.",
        "title": "One sentence.",
        "detail": "The numbers behind it, in a sentence or two.",
        "stall_ratio": "Share of the time in which training waited for input, 0 to 1.",
        "step_ms": "Wall time of one step, mean, in milliseconds.",
        "samples_per_s": "Samples per second.",
        "ceiling_speedup": "Estimate: how many times faster the run would be if it never waited for input.",
        "headroom": "Time of a step / time that the pipeline needs per batch. Below 1 the input is the limit.",
    },
    "PhaseSection": {
        "ms": "Median, in milliseconds per step.",
        "p95_ms": "95th percentile.",
        "share": "Of the wall time of the measured steps, 0 to 1.",
        "mean_ms": "Mean. The means of all phases add up to the mean step.",
    },
    "Startup": {
        "first_step_ms": "The first step, in milliseconds.",
        "tracing_ms": "Tracing and compilation, where the framework tells.",
        "own_ms": "What feedwatch itself took, once: opening the run, the first report, the end up to the last one.",
    },
    "EpochBoundaries": {
        "count": "Boundaries seen.",
        "median_ms": "From the last step of an epoch to the first usual one of the next, less validation.",
        "share": "Of the run's wall time.",
        "loader_start_ms": "Median of making the loader's iterator: starting workers.",
        "first_fetch_ms": "Mean of the first fetch of an epoch.",
    },
    "SeriesSection": {
        "step": "The framework's own step number.",
        "input_wait": "Mean milliseconds per step, of the steps up to this point.",
        "h2d": "The same.",
        "compute": "The same.",
        "other": "The same.",
        "marks": "Epochs and other events.",
    },
    "Mark": {"step": "Where it happened.", "label": "What happened."},
    "PipelineSection": {
        "kind": "tf.data, dataloader, pydataset, generator, arrays, grain, iterable or unknown.",
        "stages": "Its parts, in the order data flows.",
        "workers": "The DataLoader's workers, one by one.",
        "settings": "As they were found; names are those of the library.",
    },
    "Stage": {
        "name": "Map, ParallelMap, Batch, items, collate and so on.",
        "detail": "What a person calls it: decode (train.py:31).",
        "ms_per_batch": "Its own time per batch, added up over its parallel calls.",
        "parallelism": "Calls that run at the same time now.",
        "tunable": "tf.data's AUTOTUNE may change that.",
        "buffer": "Filled share of its buffer, 0 to 1.",
        "share": "Of the pipeline's time per batch.",
        "bottleneck": "The stage that sets the pace.",
    },
    "WorkerTime": {
        "id": "Number of the worker.",
        "batches": "Batches that it made.",
        "fetch_ms": "Reading the items of a batch.",
        "collate_ms": "Putting them together.",
        "idle_share": "Of its time: it had nothing to do.",
        "cpu_share": "Of its busy time: computing.",
        "core_wait_share": "Of its busy time: ready, but no core was free.",
        "blocked_share": "Of its busy time: waiting for storage, network or a lock.",
    },
    "TransfersSection": {
        "source": "Where it was read: xspace or kineto.",
        "windows": "Profiler windows.",
        "copies": "Per step.",
        "mb_per_step": "Megabytes copied per step.",
        "gb_per_s": "Rate of the copies.",
        "by_kind": "Pinned, pageable and so on.",
        "hidden_share": "Share of the copying that overlapped computing, 0 to 1.",
        "exposed_ms_per_step": "What did not overlap.",
        "link_gb_per_s": "What the link can carry as it runs now.",
    },
    "CopyKind": {"copies": "Number of copies.", "mb": "Megabytes.", "gb_per_s": "Their rate."},
    "DeviceSection": {
        "utilisation": "Share of the time in which some kernel ran, from NVML.",
        "memory_used_share": "Of the device's memory.",
        "pcie_rx_gb_per_s": "Received over PCIe.",
        "idle_share": "Share of the time without a kernel, from profiler windows.",
    },
    "HostSection": {
        "cpu_budget": "CPUs that this process may use (affinity and cgroup).",
        "cpu_used": "CPUs in use by this process and its children.",
        "iowait_share": "Of the machine's CPU time, waiting for storage.",
        "ram_available_gb": "Of the machine, or of the cgroup's limit where that is less.",
    },
    "Finding": {
        "code": "Permanent, such as FW101; `feedwatch explain FW101` has the page.",
        "name": "What is wrong.",
        "title": "What to do.",
        "why": "Why, in the numbers of this run.",
        "evidence": "Those numbers by name.",
        "fix": "The change.",
        "gain": "What it is worth. null: worth knowing, with nothing to gain by itself.",
        "alters": "What changes besides the speed: order, randomness, precision, updates, code.",
    },
    "Fix": {"before": "The code as it is.", "after": "The code as it should be."},
    "Gain": {
        "low": "Low end of the speed-up, 1.0 is no change.",
        "high": "High end.",
        "basis": "predicted (by the model) or measured (by a trial).",
        "because": "How it was worked out.",
        "pace": "One usual batch after the change, as the model expects it. null: the change is not one of the input.",
    },
    "Pace": {
        "batch_ms": "One batch; epoch starts, validation and gaps are not in it.",
        "step_ms": "Of the training thread, with a batch at hand.",
        "ahead": "Batches are made while the step runs.",
        "stages": "Who makes the batches.",
    },
    "PaceStage": {"name": "The stage.", "ms": "For one batch on one lane.", "lanes": "So many batches at once."},
    "SelfSection": {
        "overhead_ratio": "Upper bound of what feedwatch took of the time, 0 to 1.",
        "us_per_step": "Microseconds per step on the training thread.",
        "profiler_windows": "Windows that were opened.",
        "dropped_windows": "Windows of figures that were lost because writing was too slow.",
        "notes": "What was not measured, and why.",
    },
    "RanksSection": {
        "count": "Ranks whose files were read.",
        "world_size": "Ranks that there are.",
        "missing": "Ranks without a file.",
        "slowest": "The rank that waits longest.",
        "median_input_wait_ms": "Of all ranks, per step.",
        "max_input_wait_ms": "Of all ranks, per step.",
        "lines": "At most 16 ranks: those that wait longest.",
    },
    "RankLine": {
        "rank": "Its number.",
        "stall_ratio": "As in verdict.",
        "step_ms": "As in verdict.",
        "input_wait_ms": "Mean per step.",
    },
    "AccountSection": {
        "batches": "Batches in it.",
        "epochs": "Epoch starts in it.",
        "seconds": "Wall time in it.",
        "batch_ms": "Mean per batch; the parts add up to it.",
        "parts": "input_wait, h2d, compute, other, epoch_start, validation, gap. null: not measured.",
    },
    "PartSection": {"ms": "Per batch.", "share": "Of batch_ms."},
    "TrialSection": {
        "ended": "How the trial ended.",
        "seconds": "From its first block to its last.",
        "rows": "The run as it is, one cached batch, and every variant.",
        "picked": "Name of the row to use. null: nothing that was tried is better than the run as it is.",
        "ceiling": "Speed-up with one cached batch: what no change to the input can beat.",
        "drift": "Last block as it is / first one; 1.0 is a machine that stayed as it was.",
        "fix": "The picked setting, at your own call.",
        "notes": "What else is worth knowing about it.",
    },
    "TrialRow": {
        "name": "Such as num_workers=4.",
        "role": "The run as it is, the ceiling, or a variant.",
        "outcome": "What came out.",
        "settings": "What was set.",
        "codes": "The rules whose change this is.",
        "advised": "A finding of this run asked for exactly this.",
        "step_ms": "Per batch, mean of the counted steps.",
        "wait_share": "Of the step. null: the framework fetches out of sight.",
        "speedup": "Against the run as it is, measured beside it.",
        "predicted": "What the model had said before.",
        "contradicts": "What was measured lies outside of what was predicted.",
        "blocks": "Turns that it had.",
        "steps": "Steps that were counted.",
        "seconds": "Counted, without warm-up.",
        "note": "Why it was refused, or how it failed.",
    },
    "Span": {"low": "Low end of the interval.", "high": "High end."},
    "TimelineSection": {"excerpts": "The last steps, those around the slowest, and a few from all over the run."},
    "Excerpt": {
        "why": "last, slowest or sample.",
        "step": "Numbers of the steps.",
        "begin_us": "When each began, in microseconds from the first one's begin.",
        "wall_us": "From the first one's begin to the last one's end.",
        "lanes": "Who did what when.",
    },
    "Lane": {
        "kind": "loop, device, loading (in the training process), worker, or stage (of tf.data).",
        "name": "As the tab shows it.",
        "begin_us": "Begin of each span, from the excerpt's begin; below 0 where it began before.",
        "took_us": "How long it took.",
        "phase": "loop and device: input_wait, h2d, compute, other, validation, epoch_start, by number from 0 on.",
        "batch": "The batch that is made or waited for, by its number in its epoch; 0: not known.",
        "estimated": "The times are known, the moments are not.",
    },
    "ModelSection": {
        "explains": "The modelled time per batch is close enough to the measured one to compare changes.",
        "error": "Measured / modelled time per batch. null: it could not be modelled.",
        "note": "Why no change can be compared, or why gains are uncertain.",
    },
}


def json_schema() -> dict[str, Any]:
    """Of what this version writes. A reader must not refuse a field that it does not know: later versions add some."""
    return {
        "$schema": DIALECT,
        "$id": f"feedwatch-report-{SCHEMA}",
        "title": "A feedwatch report: report.json, and what `feedwatch report RUN --json` prints",
        **_object(Report),
        "$defs": {kind.__name__: _object(kind) for kind in _classes(Report) if kind is not Report},
    }


def field_tables() -> str:
    """The same as Markdown: one table per part of the report."""
    parts = []
    for kind in _classes(Report):
        rows = [
            f"| `{name}` | {_words(_properties(kind)[name])} | {text} |" for name, text in FIELDS[kind.__name__].items()
        ]
        parts.append("\n".join([f"## {kind.__name__}", "", "| field | type | meaning |", "| --- | --- | --- |", *rows]))
    return "\n\n".join(parts) + "\n"


def _classes(kind: Any, found: "list[Any] | None" = None) -> list[Any]:
    """All classes of the report, in the order in which FIELDS has them."""
    found = [] if found is None else found
    if is_dataclass(kind) and kind not in found:
        found.append(kind)
        for hint in get_type_hints(kind).values():
            _classes(hint, found)
    for part in get_args(kind):
        _classes(part, found)
    order = list(FIELDS)
    return sorted(found, key=lambda each: order.index(each.__name__) if each.__name__ in order else len(order))


def _object(kind: Any) -> dict[str, Any]:
    properties = _properties(kind)
    described = {name: {**properties[name], "description": text} for name, text in FIELDS[kind.__name__].items()}
    return {"type": "object", "properties": described, "required": list(properties)}


def _properties(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    named = {("self" if field.name == "self_cost" else field.name): hints[field.name] for field in fields(kind)}
    made = {name: _type(hint) for name, hint in named.items()}
    if kind is Report:
        made.update(schema={"const": SCHEMA}, clock={"enum": ["device", "host"]})
    return made


def _type(hint: Any) -> dict[str, Any]:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_type(each) for each in args]}
    if origin is tuple:
        return {"type": "array", "items": _type(args[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _type(args[1])}
    if is_dataclass(hint):
        return {"$ref": f"#/$defs/{hint.__name__}"}  # type: ignore[union-attr]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [each.value for each in hint]}
    return {"type": _PLAIN[hint]}


def _words(schema: dict[str, Any]) -> str:
    """A type as a reader says it."""
    if "anyOf" in schema:
        return " or ".join(_words(each) for each in schema["anyOf"])
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema["type"] == "array":
        return f"list of {_words(schema['items'])}"
    inner = schema.get("additionalProperties")
    return schema["type"] if inner is None else f"object of {_words(inner)}"
