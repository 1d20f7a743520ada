"""Advice about copies on the emulated device: followed, does it gain what it said?

A grid of bytes, bandwidths, compute and workers, through each of the doors (`doors.py`). Each run is a real DataLoader
and a real loop. feedwatch watches the run as it is; then the same training runs without feedwatch, as it is and with
the change that the rule asks for, in turns. The gain is the ratio of the two step times, medians of the turns. A step's
time is read from the device's own log, from the end of one step's kernel to the end of a later one's: what a loader
takes to start and to end its workers is no part of any step.

The rules were made with the first scenes of each door. Those of `unseen` have other figures, and nothing in the rules
may be fitted to these.
"""

import itertools
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.device.doors import Door, Training
from tests.emulated import Emulated

FIRST_TIMED: Final = 10
TURNS: Final = 3
# So much may a run without advice gain: less than a rule would promise.
NOTHING: Final = 1.05


@dataclass(frozen=True)
class Scene:
    training: Training
    held_out: bool = False


@dataclass(frozen=True)
class Followed:
    scene: str
    held_out: bool
    code: str
    copy_share: float
    low: float | None  # None: nothing was advised, or no gain promised
    high: float | None
    said: bool
    gained: float

    @property
    def right(self) -> bool:
        """A promise holds; without one there was little to gain."""
        if self.low is None or self.high is None:
            return self.gained < NOTHING or (self.said and self.gained < 1 / (1 - self.copy_share) * NOTHING)
        return self.low <= self.gained <= self.high


def grid() -> Iterator[Scene]:
    """For a plain loop. The last two: loading is the limit, and nothing about copies helps."""
    for mb, kernel_ms, workers, (pageable, pinned) in itertools.product(
        (1, 4, 12), (6, 18), (0, 2), ((1.0, 3.0), (2.0, 5.0))
    ):
        yield Scene(Training(mb, kernel_ms, workers, 1.0, pageable, pinned))
    yield Scene(Training(4, 6, 1, 30.0, 1.0, 3.0))
    yield Scene(Training(12, 6, 2, 60.0, 2.0, 5.0))


def smaller_grid() -> Iterator[Scene]:
    """For the frameworks' own loops. The last four: loading takes longer, on the training thread or on a worker, and
    hides behind the kernel or is the limit.
    """
    speeds = (1.5, 4.0), (0.8, 3.0)
    for big, long, some in itertools.product((0, 1), repeat=3):
        pageable, pinned = speeds[(big + some) % 2]
        yield Scene(Training((2, 8)[big], (5, 14)[long], 2 * some, 1.0, pageable, pinned))
    yield Scene(Training(8, 14, 0, 9.0, 1.5, 4.0))
    yield Scene(Training(8, 5, 0, 12.0, 1.5, 4.0))
    yield Scene(Training(8, 14, 1, 9.0, 0.8, 3.0))
    yield Scene(Training(8, 5, 1, 30.0, 0.8, 3.0))


def unseen() -> Iterator[Scene]:
    yield Scene(Training(3, 8, 1, 2.0, 1.2, 3.6), held_out=True)
    yield Scene(Training(10, 11, 0, 3.0, 1.7, 4.5), held_out=True)
    yield Scene(Training(6, 7, 2, 4.0, 0.9, 2.7), held_out=True)
    yield Scene(Training(1.5, 10, 0, 2.0, 0.7, 2.8), held_out=True)
    yield Scene(Training(5, 4, 0, 15.0, 1.2, 3.6), held_out=True)
    yield Scene(Training(6, 5, 2, 40.0, 1.7, 4.5), held_out=True)


def step_ms(emulated: Emulated) -> float:
    ends_ns = sorted(it.end_ns for it in emulated.operations("kernel") if it.name == "step")
    return (ends_ns[-1] - ends_ns[FIRST_TIMED - 1]) / 1e6 / (len(ends_ns) - FIRST_TIMED)


def run(emulated: Emulated, door: Door, training: Training) -> float:
    """Milliseconds per step, without feedwatch."""
    prepare(emulated, training)
    door(training, None)
    return step_ms(emulated)


def prepare(emulated: Emulated, training: Training) -> None:
    emulated.reset()
    emulated.settings.pageable_gb_per_s = training.pageable_gb_per_s
    emulated.settings.pinned_gb_per_s = training.pinned_gb_per_s


CHANGES: Final = {
    "FW201": lambda it: replace(it, pin=True),
    "FW202": lambda it: replace(it, non_blocking=True),
    "FW203": lambda it: replace(it, ahead=True),
}


def follow(emulated: Emulated, door: Door, scene: Scene, code: str) -> Followed:
    training = scene.training
    prepare(emulated, training)
    with tempfile.TemporaryDirectory() as folder:
        report = door(training, Path(folder))
    found = next((each for each in report.findings if each.code == code), None)
    promised = None if found is None else found.gain
    changed = CHANGES[code](training)
    turns = [(run(emulated, door, training), run(emulated, door, changed)) for _ in range(TURNS)]
    now_ms, then_ms = (median(times) for times in zip(*turns, strict=True))
    copy = report.phases["h2d"]
    return Followed(
        scene=str(training),
        held_out=scene.held_out,
        code=code,
        copy_share=0.0 if copy is None else copy.share,
        low=None if promised is None else promised.low,
        high=None if promised is None else promised.high,
        said=found is not None,
        gained=now_ms / then_ms,
    )


def cases(scenes: Iterable[Scene], *, custom: bool = False) -> Iterator[tuple[Scene, str]]:
    """Each scene as it is and with pinned batches, and where a hook may copy in its own way, with one that blocks."""
    for scene in scenes:
        yield scene, "FW201"
        yield replace(scene, training=replace(scene.training, pin=True)), "FW203"
        if custom:
            yield replace(scene, training=replace(scene.training, pin=True, non_blocking=False)), "FW202"


def measure(emulated: Emulated, door: Door, rows: Iterable[tuple[Scene, str]]) -> list[Followed]:
    return [follow(emulated, door, scene, code) for scene, code in rows]
