"""Starvation, copy and compute of a loop on the emulated device against the device's own log, over a grid of scenes.

Every scene is a real DataLoader, a real loop and real timing events. The truth comes from the emulator's log of kernels
and copies, which knows nothing of our events, and from stamps inside the loader's own `next`
(`tests/contract/device/scenes.py`):

- starved: how long no kernel and no copy ran while the loop waited for its batch;
- copy: how long the link carried the batch;
- compute: how long the kernel of the step ran.

Between its work the device may stand still because the host comes late: freeing the batch before takes milliseconds.
Copy or compute may hold such a gap, so each has a least and a most. A figure is right when it is within 0.3 ms or 3 %
of what lies between, as the median over the steady steps.
"""

import itertools
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from tests.emulated import Emulated

LEAST_MS: Final = 0.3
SHARE: Final = 0.03
STEPS: Final = 30
# Slower than the memory of any machine: the emulated link, and not this host's own copying, is what takes time.
PINNED_GB_PER_S: Final = 2.0
PAGEABLE_GB_PER_S: Final = 1.0


@dataclass(frozen=True)
class Compared:
    scene: str
    figure: str
    truth_ms: float  # at least
    off_ms: float

    @property
    def right(self) -> bool:
        return self.off_ms <= max(LEAST_MS, SHARE * self.truth_ms)


def grid() -> Iterator[tuple[float, float, float, bool]]:
    """Loading and computing in ms, megabytes, pinned or not."""
    return itertools.product((2, 12, 25), (5, 15), (0.01, 2, 8, 16), (False, True))


def compare(emulated: Emulated, load_ms: float, kernel_ms: float, mb: float, pin: bool) -> list[Compared]:
    """Each step against the log of the same step."""
    from tests.contract.device.scenes import Scene, loop, off_ms, truth

    emulated.reset()
    emulated.settings.pinned_gb_per_s, emulated.settings.pageable_gb_per_s = PINNED_GB_PER_S, PAGEABLE_GB_PER_S
    scene = Scene(load_ms=load_ms, kernel_ms=kernel_ms, mb=mb, pin=pin, steps=STEPS)
    with tempfile.TemporaryDirectory() as folder:
        outcome = loop(scene, Path(folder))
    steps, off = truth(emulated, scene, outcome), off_ms(emulated, scene, outcome)
    name = f"load {load_ms} ms, kernel {kernel_ms} ms, {mb} MB{' pinned' if pin else ''}"
    return [
        Compared(name, figure, median(getattr(step, figure)[0] for step in steps) / 1e6, figure_off_ms)
        for figure, figure_off_ms in off.items()
    ]


def measure(emulated: Emulated) -> list[Compared]:
    return [row for scene in grid() for row in compare(emulated, *scene)]
