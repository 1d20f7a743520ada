"""Starvation, copy and compute of a loop on the emulated device against the device's own log, over a grid of scenes.

Every scene is a real DataLoader, a real loop and real timing events. The truth comes from the emulator's log of kernels
and copies, which knows nothing of our events, and from a stopwatch around the loader's own `next`:

- starved: how long no kernel and no copy ran while the loop waited for its batch;
- copy: how long the link carried the batch;
- compute: from the end of the copy until the step's kernel is done and the loop asks for its next batch. While the loop
  still works on the host, the step is not over, although the device may stand still.

A figure is right when its median over the steady steps is within 0.3 ms or 3 % of the log's.
"""

import itertools
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from tests.emulated import Emulated
from tests.emulated.truth import Operation, busy_ns

LEAST_MS: Final = 0.3
SHARE: Final = 0.03
STEPS: Final = 30
FIRST_STEADY: Final = 3
# Slower than the memory of any machine: the emulated link, and not this host's own copying, is what takes time.
PINNED_GB_PER_S: Final = 2.0
PAGEABLE_GB_PER_S: Final = 1.0


@dataclass(frozen=True)
class Compared:
    scene: str
    figure: str
    truth_ms: float
    said_ms: float

    @property
    def right(self) -> bool:
        return abs(self.said_ms - self.truth_ms) <= max(LEAST_MS, SHARE * self.truth_ms)


def grid() -> Iterator[tuple[float, float, float, bool]]:
    """Loading and computing in ms, megabytes, pinned or not."""
    return itertools.product((2, 12, 25), (5, 15), (0.01, 2, 8, 16), (False, True))


class Stopwatch:
    """Around a loader: when each batch was asked for, and when it was there."""

    def __init__(self, loader: Any) -> None:
        self.loader, self.waits = loader, []

    def __iter__(self) -> Iterator[Any]:
        batches = iter(self.loader)
        while True:
            asked_ns = time.perf_counter_ns()
            try:
                batch = next(batches)
            except StopIteration:
                return
            self.waits.append((asked_ns, time.perf_counter_ns()))
            yield batch


def compare(emulated: Emulated, load_ms: float, kernel_ms: float, mb: float, pin: bool) -> list[Compared]:
    """Each step against the log of the same step."""
    from tests.contract.device.scenes import Loader, Scene, loop

    emulated.reset()
    emulated.settings.pinned_gb_per_s, emulated.settings.pageable_gb_per_s = PINNED_GB_PER_S, PAGEABLE_GB_PER_S
    scene = Scene(load_ms=load_ms, kernel_ms=kernel_ms, mb=mb, pin=pin, steps=STEPS)
    watched = Stopwatch(Loader(scene))
    with tempfile.TemporaryDirectory() as folder:
        outcome = loop(scene, Path(folder), data=watched)
    truth = _truth(emulated.operations(device=0), watched.waits, 4 * scene.floats)
    name = f"load {load_ms} ms, kernel {kernel_ms} ms, {mb} MB{' pinned' if pin else ''}"
    rows = []
    for figure, field in (("starved", "starved_ns"), ("copy", "h2d_ns"), ("compute", "compute_ns")):
        steady = [record for record in outcome.records[FIRST_STEADY:] if record.step <= len(truth[figure])]
        said_ms = median(getattr(record, field) / 1e6 for record in steady)
        rows.append(Compared(name, figure, median(truth[figure][record.step - 1] for record in steady), said_ms))
    return rows


def _truth(operations: list[Operation], waits: list[tuple[int, int]], batch_bytes: int) -> dict[str, list[float]]:
    work = [it for it in operations if it.kind in ("kernel", "copy") and it.duration_ns]
    starved = []
    for asked_ns, got_ns in waits:
        near = [it for it in work if it.end_ns > asked_ns and it.start_ns < got_ns]
        starved.append((got_ns - asked_ns - busy_ns(near, asked_ns, got_ns)) / 1e6)
    to_device = [it for it in work if it.kind == "copy" and it.copy.endswith("_to_device")]
    copies = [it for it in to_device if it.size_bytes == batch_bytes]
    kernels = [it for it in work if it.name == "step"]
    next_asked = (asked_ns for asked_ns, _ in waits[1:])
    return {
        "starved": starved,
        "copy": [it.duration_ns / 1e6 for it in copies],
        "compute": [
            (max(asked_ns, kernel.end_ns) - copy.end_ns) / 1e6
            for copy, kernel, asked_ns in zip(copies, kernels, next_asked, strict=False)
        ],
    }


def measure(emulated: Emulated) -> list[Compared]:
    return [row for scene in grid() for row in compare(emulated, *scene)]
