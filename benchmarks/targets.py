"""What was promised, next to what was measured. Not met is said as plainly as met, and noise as noise."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from benchmarks.accuracy import error_ms

OURS, EMPTY, BARE = "feedwatch", "empty callback", "no callback"
TEN, LONG_STEPS = "tiny, steps_per_execution=10", ("5 ms", "9 ms, 64 cheap items")
SELF_FACTOR, EMPTY_FACTOR = 1.5, 1.3
PER_CALL_US, PER_BATCH_US, LONG_SHARE = 20, 8, 0.3
LOOP_US = 10
DOOR_SHARE, DOOR_MS = 0.03, 0.5
# Of standard errors: what chance gives in one of twenty measurements is called noise.
NOISE_ERRORS = 2.0
# With one torch thread all work is done on the training thread, whose CPU time a busy machine disturbs least. Keras
# runs our timestamps on TensorFlow's threads: only the wall clock sees them.
TORCH_CLOCK, KERAS_CLOCK = "thread_cpu_us", "wall_us"

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
    figures = {key: part["figures"] for key, part in results.get("parts", {}).items()}
    return [
        *_lightning(figures.get("overhead_lightning", {})),
        *_keras(figures.get("overhead_keras", {})),
        *_self("Hugging Face", figures.get("overhead_huggingface", {}), TORCH_CLOCK, "thread_us"),
        *_loop(figures.get("overhead_loop", {})),
        *((_doors(figures["accuracy_doors"]["scenes"]),) if "accuracy_doors" in figures else ()),
        *(_scale(figures["scale"]) if "scale" in figures else ()),
    ]


def _lightning(sizes: Results) -> list[Target]:
    found = []
    clocks = {"the usual step": "median_wall_us", "the mean step (CPU of the training thread)": TORCH_CLOCK}
    for step, clock in clocks.items() if "tiny" in sizes else ():
        ours, empty = added(sizes["tiny"], OURS, clock), added(sizes["tiny"], EMPTY, clock)
        error = sqrt(ours.error**2 + (EMPTY_FACTOR * empty.error) ** 2)
        text = f"{ours.text()}; an empty callback {empty.text()}"
        verdict = judged(EMPTY_FACTOR * empty.value - ours.value, error)
        found.append(Target(f"Lightning, {step}", f"{EMPTY_FACTOR} × an empty callback", text, verdict))
    return [*found, *_shares("Lightning", sizes), *_self("Lightning", sizes, TORCH_CLOCK, "thread_us")]


def _keras(sizes: Results) -> list[Target]:
    found = []
    for call, clock in (("the usual call", "median_wall_us"), ("the mean call", KERAS_CLOCK)):
        for size, most_us, what in (
            ("tiny", PER_CALL_US, f"Keras, {call} of the train function"),
            (TEN, PER_BATCH_US, f"Keras, ten steps per execution, per batch of {call}"),
        ):
            if size in sizes:
                whole, batches = added(sizes[size], OURS, clock), sizes[size]["per_call"]
                each = Estimate(whole.value / batches, whole.error / batches)
                found.append(
                    Target(what, f"at most {most_us} µs", each.text(), judged(most_us - each.value, each.error))
                )
    return [*found, *_shares("Keras", sizes), *_self("Keras", sizes, KERAS_CLOCK, "at_most_us")]


def _shares(name: str, sizes: Results) -> Iterator[Target]:
    """By the wall clock: what feedwatch's own thread takes from a step is in no other one."""
    for size in (size for size in LONG_STEPS if size in sizes):
        for step, clock in (("the usual step", "median_wall_us"), ("the mean step", "wall_us")):
            step_us = sizes[size]["variants"][OURS]["base"][clock]
            ours = added(sizes[size], OURS, clock)
            share, error = 100 * ours.value / step_us, 100 * ours.error / step_us
            text = f"{share:.2f} ± {error:.2f} % of {step_us / 1000:.1f} ms"
            what = f"{name}, share of {step} ({size})"
            yield Target(what, f"at most {LONG_SHARE} %", text, judged(LONG_SHARE - share, error))


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


def _self(name: str, sizes: Results, clock: str, says: str) -> Iterator[Target]:
    said = sizes.get("tiny", {}).get("says_of_itself")
    if not said:
        return
    for what, unit, theirs, measured in (
        ("per step", "µs", said[says], added(sizes["tiny"], OURS, clock)),
        ("once", "ms", said["once_ms"], added(sizes["tiny"], OURS, "once_ms")),
    ):
        text = f"{theirs['median']:.1f} {unit} said, {measured.text(unit)} measured"
        low, high = theirs["median"] / SELF_FACTOR, theirs["median"] * SELF_FACTOR
        verdict = judged(min(measured.value - low, high - measured.value), measured.error)
        yield Target(f"{name}, what feedwatch says of itself, {what}", "within a factor of 1.5", text, verdict)


def _scale(figures: Results) -> list[Target]:
    largest = max(figures["steps"], key=lambda row: row["steps"])
    text = f"{largest['growth_mb']:.1f} MB over {largest['steps']:,} steps"
    verdict = judged(8 - largest["growth_mb"], 0)
    return [Target("memory does not depend on the number of steps", "at most 8 MB", text, verdict)]
