"""What was promised, next to what was measured. Not met is said as plainly as met."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

OURS, EMPTY = "feedwatch", "empty callback"
SELF_FACTOR = 1.5

Results = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Target:
    what: str
    goal: str
    measured: str
    met: bool

    def line(self) -> str:
        return f"{'met    ' if self.met else 'NOT MET'}  {self.what}: {self.measured} (goal {self.goal})"


def targets(results: Results) -> list[Target]:
    parts = results.get("parts", {})
    found: list[Target] = []
    if "overhead_lightning" in parts:
        found += _lightning(parts["overhead_lightning"]["figures"])
    if "overhead_keras" in parts:
        found += _keras(parts["overhead_keras"]["figures"])
    if "scale" in parts:
        found += _scale(parts["scale"]["figures"])
    return found


def added_us(table: Results, variant: str = OURS, figure: str = "wall_us") -> float:
    return float(table["variants"][variant]["adds"][figure]["median"])


def _lightning(sizes: Results) -> list[Target]:
    ours, empty = added_us(sizes["tiny"]), added_us(sizes["tiny"], EMPTY)
    return [
        Target(
            "Lightning, per step",
            "at most twice an empty callback",
            f"{ours:.1f} µs, empty {empty:.1f} µs",
            ours <= 2 * empty,
        ),
        _share("Lightning", sizes["5 ms"]),
        *_self("Lightning", sizes["tiny"]),
    ]


def _keras(sizes: Results) -> list[Target]:
    tiny, many = sizes["tiny"], sizes["tiny, steps_per_execution=10"]
    call_us, batch_us = added_us(tiny), added_us(many) / many["per_call"]
    return [
        Target("Keras, per call of the train function", "at most 40 µs", f"{call_us:.1f} µs", call_us <= 40),
        Target("Keras, steps_per_execution=10, per batch", "at most 10 µs", f"{batch_us:.1f} µs", batch_us <= 10),
        _share("Keras", sizes["5 ms"]),
        *_self("Keras", tiny),
    ]


def _share(name: str, table: Results) -> Target:
    step_us = table["variants"][OURS]["base"]["wall_us"]
    share = added_us(table) / step_us
    text = f"{100 * share:.2f} % of {step_us / 1000:.1f} ms"
    return Target(f"{name}, share of a step of about 5 ms", "below 0.5 %", text, share < 0.005)


def _self(name: str, table: Results) -> list[Target]:
    said = table["says_of_itself_us"]
    if said is None:
        return [Target(f"{name}, what feedwatch says of itself", "within a factor of 1.5", "nothing", met=False)]
    measured = added_us(table)
    factor = said["median"] / measured if measured > 0 else float("inf")
    text = f"{said['median']:.1f} µs said, {measured:.1f} µs measured: factor {factor:.2f}"
    return [
        Target(
            f"{name}, what feedwatch says of itself",
            "within a factor of 1.5",
            text,
            1 / SELF_FACTOR <= factor <= SELF_FACTOR,
        )
    ]


def _scale(figures: Results) -> list[Target]:
    largest = max(figures["steps"], key=lambda row: row["steps"])
    text = f"{largest['growth_mb']:.1f} MB over {largest['steps']:,} steps"
    return [Target("memory does not depend on the number of steps", "at most 8 MB", text, largest["growth_mb"] <= 8)]
