"""Advice about copies on the emulated device: followed, does it gain what it said?

A grid of bytes, bandwidths, compute and workers. Each run is a real DataLoader and a real loop. feedwatch watches the
run as it is; then the same training runs without feedwatch, as it is and with the change that the rule asks for, in
turns. The gain is the ratio of the two step times, medians of the turns, by one stopwatch.
"""

import itertools
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Final

import torch
from torch.utils.data import DataLoader, Dataset

from tests.emulated import Emulated

STEPS: Final = 40
FIRST_TIMED: Final = 10
TURNS: Final = 3
CODES: Final = ("FW201", "FW202", "FW203")
# So much may a run without advice gain: less than a rule would promise.
NOTHING: Final = 1.05


@dataclass(frozen=True)
class Training:
    mb: float
    kernel_ms: float
    workers: int
    load_ms: float
    pageable_gb_per_s: float
    pinned_gb_per_s: float
    pin: bool = False
    non_blocking: bool = True
    ahead: bool = False

    def __str__(self) -> str:
        speeds = f"{self.pageable_gb_per_s:g}/{self.pinned_gb_per_s:g} GB/s"
        return f"{self.mb:g} MB, {speeds}, kernel {self.kernel_ms:g} ms, {self.workers} workers of {self.load_ms:g} ms"


@dataclass(frozen=True)
class Followed:
    scene: str
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


class Items(Dataset[torch.Tensor]):
    def __init__(self, training: Training) -> None:
        self.load_ms, self.floats = training.load_ms, int(training.mb * 1e6 / 4)

    def __len__(self) -> int:
        return STEPS

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self.load_ms / 1e3)
        return torch.full((self.floats,), float(index))


def grid() -> Iterator[Training]:
    """The last two: loading is the limit, and nothing about copies helps."""
    for mb, kernel_ms, workers, (pageable, pinned) in itertools.product(
        (1, 4, 12), (6, 18), (0, 2), ((1.0, 3.0), (2.0, 5.0))
    ):
        yield Training(mb, kernel_ms, workers, 1.0, pageable, pinned)
    yield Training(4, 6, 1, 30.0, 1.0, 3.0)
    yield Training(12, 6, 2, 60.0, 2.0, 5.0)


def run(emulated: Emulated, training: Training, watch: Any = None) -> float:
    """Milliseconds per step."""
    emulated.reset()
    emulated.settings.pageable_gb_per_s = training.pageable_gb_per_s
    emulated.settings.pinned_gb_per_s = training.pinned_gb_per_s
    torch.manual_seed(3)
    model = torch.nn.Linear(4, 1).to("emulated")
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    data: Any = DataLoader(Items(training), batch_size=1, num_workers=training.workers, pin_memory=training.pin)
    data = copy_ahead(data) if training.ahead else data
    began_ns = 0
    for number, batch in enumerate(data if watch is None else watch(data)):
        if number == FIRST_TIMED:
            torch.accelerator.synchronize()  # a host that runs ahead is not a device that has done its first steps
            began_ns = time.perf_counter_ns()
        if watch is None:
            here = batch.to("emulated", non_blocking=training.non_blocking)
        else:
            with watch.copying():
                here = batch.to("emulated", non_blocking=training.non_blocking)
        torch.emulated.kernel(training.kernel_ms, "step")
        optimizer.zero_grad()
        model(here[:, :4]).sum().backward()
        optimizer.step()
    torch.accelerator.synchronize()
    return (time.perf_counter_ns() - began_ns) / 1e6 / (STEPS - FIRST_TIMED)


def copy_ahead(loader: Any) -> Any:
    """The code that FW203 gives, as it is pasted."""
    from feedwatch.advise.rules.copies.fw203_exposed_copies import TORCH

    space: dict[str, Any] = {"torch": torch}
    exec(TORCH.replace("torch.cuda", "torch.emulated"), space)
    return space["CopyAhead"](loader, "emulated:0")


CHANGES: Final = {
    "FW201": lambda it: replace(it, pin=True),
    "FW203": lambda it: replace(it, ahead=True),
}


def follow(emulated: Emulated, training: Training, code: str) -> Followed:
    from feedwatch.torch import FeedWatch

    with tempfile.TemporaryDirectory() as folder:
        watch = FeedWatch(folder, console=False, device="emulated")
        run(emulated, training, watch)
        report = watch.close()
    found = next((each for each in report.findings if each.code == code), None)
    promised = None if found is None else found.gain
    changed = CHANGES[code](training)
    turns = [(run(emulated, training), run(emulated, changed)) for _ in range(TURNS)]
    now_ms, then_ms = (median(times) for times in zip(*turns, strict=True))
    copy = report.phases["h2d"]
    return Followed(
        scene=str(training),
        code=code,
        copy_share=0.0 if copy is None else copy.share,
        low=None if promised is None else promised.low,
        high=None if promised is None else promised.high,
        said=found is not None,
        gained=now_ms / then_ms,
    )


def measure(emulated: Emulated) -> list[Followed]:
    rows = []
    for training in grid():
        rows.append(follow(emulated, training, "FW201"))
        rows.append(follow(emulated, replace(training, pin=True), "FW203"))
    return rows
