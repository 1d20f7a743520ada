"""What was promised, next to what was measured. Not met is said as plainly as met, and noise as noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from benchmarks.accuracy import error_ms

OURS, EMPTY = "feedwatch", "empty callback"
SELF_FACTOR = 1.5
LOOP_US = 10
DOOR_SHARE, DOOR_MS = 0.03, 0.5
# Of standard errors: what chance gives in one of twenty measurements is called noise.
NOISE_ERRORS = 2.0
# Lightning with one torch thread does all its work on the training thread, whose CPU time a busy machine disturbs
# least. Keras runs our timestamps on TensorFlow's threads: only the wall clock sees them.
LIGHTNING_CLOCK, KERAS_CLOCK = "thread_cpu_us", "wall_us"

Results = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A median of paired differences and how far it may be off by chance (one standard error)."""

    value: float
    error: float

    def text(self, unit: str = "µs") -> str:
        return f"{self.value:.1f} ± {self.error:.1f} {unit}"

    @property
    def seen(self) -> bool:
        """Whether there is a cost above the noise."""
        return self.value > NOISE_ERRORS * self.error

    @property
    def noise(self) -> float:
        """No callback makes a step shorter: what lies below zero is noise, however small the error looks."""
        return max(self.error, -self.value)

    def cost(self, digits: int = 1) -> str:
        return (
            f"{self.value:.{digits}f} ± {self.error:.{digits}f}"
            if self.seen
            else f"no difference (± {self.noise:.{digits}f})"
        )


@dataclass(frozen=True, slots=True)
class Target:
    what: str
    goal: str
    measured: str
    verdict: str  # met | not met | undecided: the distance to the goal is inside the noise

    def line(self) -> str:
        return f"{self.verdict:9}  {self.what}: {self.measured} (goal: {self.goal})"


def added(table: Results, variant: str, clock: str) -> Estimate:
    row = table["variants"][variant]
    spread = row["adds"][clock]
    # The standard error of a median, from the quartiles: 1.25 sigma / sqrt(n), and 1.35 sigma between the quartiles.
    return Estimate(spread["median"], 0.93 * (spread["high"] - spread["low"]) / sqrt(row["pairs"]))


def judged(distance: float, error: float) -> str:
    """`distance`: how far below the goal, negative when above it."""
    if abs(distance) < NOISE_ERRORS * error:
        return "undecided"
    return "met" if distance > 0 else "not met"


def targets(results: Results) -> list[Target]:
    parts = results.get("parts", {})
    found: list[Target] = []
    if "overhead_lightning" in parts:
        found += _lightning(parts["overhead_lightning"]["figures"])
    if "overhead_keras" in parts:
        found += _keras(parts["overhead_keras"]["figures"])
    if "overhead_loop" in parts:
        found += _loop(parts["overhead_loop"]["figures"])
    if "accuracy_doors" in parts:
        found.append(_doors(parts["accuracy_doors"]["figures"]["scenes"]))
    if "scale" in parts:
        found += _scale(parts["scale"]["figures"])
    return found


def _lightning(sizes: Results) -> list[Target]:
    ours, empty = added(sizes["tiny"], OURS, LIGHTNING_CLOCK), added(sizes["tiny"], EMPTY, LIGHTNING_CLOCK)
    error = sqrt(ours.error**2 + (2 * empty.error) ** 2)
    text = f"{ours.text()}; an empty callback {empty.text()}"
    return [
        Target("Lightning, per step", "twice an empty callback", text, judged(2 * empty.value - ours.value, error)),
        _share("Lightning", sizes["5 ms"], LIGHTNING_CLOCK),
        _self("Lightning", sizes["tiny"], LIGHTNING_CLOCK),
    ]


def _keras(sizes: Results) -> list[Target]:
    tiny, many = sizes["tiny"], sizes["tiny, steps_per_execution=10"]
    call, ten = added(tiny, OURS, KERAS_CLOCK), added(many, OURS, KERAS_CLOCK)
    batch = Estimate(ten.value / many["per_call"], ten.error / many["per_call"])
    per_call = "Keras, per call of the train function"
    return [
        Target(per_call, "at most 40 µs", call.text(), judged(40 - call.value, call.error)),
        Target(
            "Keras, ten steps per execution, per batch",
            "at most 10 µs",
            batch.text(),
            judged(10 - batch.value, batch.error),
        ),
        _share("Keras", sizes["5 ms"], KERAS_CLOCK),
        _self("Keras", tiny, KERAS_CLOCK),
    ]


def _loop(sizes: Results) -> list[Target]:
    """The usual batch, and the mean one: in that the work of feedwatch's own thread is, which wants Python's lock."""
    clocks = {"the usual batch": "median_wall_us", "the mean batch": "wall_us"}
    found = [(what, added(sizes["tiny"], OURS, clock)) for what, clock in clocks.items() if "tiny" in sizes]
    return [
        Target(f"A plain loop, {what}", f"at most {LOOP_US} µs", cost.text(), judged(LOOP_US - cost.value, cost.error))
        for what, cost in found
    ]


def _doors(scenes: Sequence[Mapping[str, Any]]) -> Target:
    known = [
        (scene["truth"][phase], error)
        for scene in scenes
        for phase in ("input", "compute")
        if (error := error_ms(scene, OURS, phase)) is not None
    ]
    within = sum(abs(error) <= DOOR_SHARE * truth + DOOR_MS for truth, error in known)
    doors = ", ".join(dict.fromkeys(scene["scene"].partition(",")[0] for scene in scenes))
    what, verdict = "The other doors, input and compute of a step", "met" if within == len(known) else "not met"
    return Target(what, "within 3 % + 0.5 ms", f"{within} of {len(known)} figures ({doors})", verdict)


def _share(name: str, table: Results, clock: str) -> Target:
    step_us = table["variants"][OURS]["base"]["wall_us"]
    ours = added(table, OURS, clock)
    share, error = 100 * ours.value / step_us, 100 * ours.error / step_us
    text = f"{share:.2f} ± {error:.2f} % of {step_us / 1000:.1f} ms"
    return Target(f"{name}, share of a step of some milliseconds", "below 0.5 %", text, judged(0.5 - share, error))


def _self(name: str, table: Results, clock: str) -> Target:
    what, goal, said = f"{name}, what feedwatch says of itself", "within a factor of 1.5", table["says_of_itself_us"]
    measured = added(table, OURS, clock)
    if said is None:
        return Target(what, goal, "nothing", "not met")
    text = f"{said['median']:.1f} µs said, {measured.text()} measured"
    low, high = said["median"] / SELF_FACTOR, said["median"] * SELF_FACTOR
    nearest = min(measured.value - low, high - measured.value)
    return Target(what, goal, text, judged(nearest, measured.error))


def _scale(figures: Results) -> list[Target]:
    largest = max(figures["steps"], key=lambda row: row["steps"])
    text = f"{largest['growth_mb']:.1f} MB over {largest['steps']:,} steps"
    verdict = judged(8 - largest["growth_mb"], 0)
    return [Target("memory does not depend on the number of steps", "at most 8 MB", text, verdict)]
