"""Scenes with a known truth, and what each way of measuring said about them."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.accuracy import error_ms, errors, methods
from benchmarks.pages.markdown import number, signed, table


def scene_table(scenes: Sequence[Mapping[str, Any]]) -> str:
    """Every scene: the truth, then each method's error in input and in compute."""
    names = methods(scenes)
    head = ["scene", "input, ms", "compute, ms", *[f"{name}: input / compute" for name in names]]
    rows = []
    for scene in scenes:
        truth = scene["truth"]
        cells = [
            f"{signed(error_ms(scene, n, 'input'), 2)} / {signed(error_ms(scene, n, 'compute'), 2)}" for n in names
        ]
        rows.append([scene["scene"], number(truth["input"], 2), number(truth["compute"], 2), *cells])
    return table(head, rows)


def summary_table(groups: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """`groups`: framework → its scenes."""
    rows = []
    for framework, scenes in groups.items():
        for method in methods(scenes):
            for phase in ("input", "compute", "copy"):
                found = errors(scenes, method, phase)
                if found is not None:
                    where = found.worst_scene if found.worst_ms >= 0.5 else ""
                    row = [framework, method, phase, str(found.scenes), number(found.median_ms, 2)]
                    rows.append([*row, number(found.worst_ms, 2), f"{100 * found.worst_share:.1f} %", where])
    errors_of = ("median error, ms", "worst error, ms", "worst, share of the step")
    head = ("", "measured by", "phase", "scenes", *errors_of, "worst in")
    return table(head, rows)


def xprof_table(scenes: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for scene in scenes:
        said = scene["xprof"]
        if "failed" in said:
            rows.append([scene["scene"], number(scene["truth"]["input"], 2), "–", "–", said["failed"]])
        else:
            figures = [number(said["input_ms"], 2), number(said["pipeline_ms"], 2)]
            rows.append([scene["scene"], number(scene["truth"]["input"], 2), *figures, said["concludes"]])
    head = ("scene", "input wait, ms", "xprof: input per step, ms", "xprof: pipeline per batch, ms", "xprof concludes")
    return table(head, rows)
