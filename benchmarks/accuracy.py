"""Errors of each way of measuring against the workload's own clock: pure arithmetic over the stored scenes."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Scene = Mapping[str, Any]  # {"scene": …, "truth": {phase: ms}, "said": {method: {phase: ms} or None}}


@dataclass(frozen=True, slots=True)
class Errors:
    """Over the scenes in which a method said something about a phase that has a truth."""

    scenes: int
    median_ms: float
    worst_ms: float
    worst_scene: str
    worst_share: float  # of a step: of all phases that have a truth


def error_ms(scene: Scene, method: str, phase: str) -> float | None:
    """Signed; None where either side has no figure."""
    said, truth = scene["said"].get(method), scene["truth"][phase]
    if said is None or said.get(phase) is None or truth is None:
        return None
    return float(said[phase] - truth)


def errors(scenes: Sequence[Scene], method: str, phase: str) -> Errors | None:
    known = [(abs(error), scene["scene"]) for scene in scenes if (error := error_ms(scene, method, phase)) is not None]
    if not known:
        return None
    worst_ms, worst_scene = max(known)
    step_ms = {scene["scene"]: sum(ms or 0.0 for ms in scene["truth"].values()) for scene in scenes}
    worst_share = max(error / step_ms[name] for error, name in known if step_ms[name])
    return Errors(len(known), statistics.median(ms for ms, _ in known), worst_ms, worst_scene, worst_share)


def methods(scenes: Sequence[Scene]) -> list[str]:
    return list(dict.fromkeys(method for scene in scenes for method in scene["said"]))
