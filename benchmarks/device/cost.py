"""What the events of a step cost the training thread: the same training with the device's clock and without it.

Three runs in turn, again and again: bare, watched by the host's clock alone, watched by the device's clock too. The CPU
time of the training thread per step is compared, by the tenth percentile over the steps of all rounds: whoever else
uses this machine takes the caches, and makes most steps dearer. The host runs ahead of the device, as in any training
that a GPU bounds.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final, NamedTuple

import torch
from torch.utils.data import DataLoader

from tests.emulated import Emulated

ROUNDS: Final = 12
STEPS: Final = 150
WARMUP: Final = 20
KERNEL_MS: Final = 1.5  # longer than the host takes for a step at either door
MOST_US: Final = 25.0
# So often the host waits for the device: it stays ahead and never fills the launch queue.
SYNC_EVERY: Final = 25


class Cost(NamedTuple):
    door: str
    bare_us: float  # CPU time of the training thread per step
    host_us: float  # more than that with the host's clock
    events_us: float  # more than that again with the device's
    said_us: float | None  # by feedwatch, of itself

    @property
    def right(self) -> bool:
        return self.events_us <= MOST_US


class Stamps(list[int]):
    """The thread's CPU time at each step."""

    def here(self) -> None:
        self.append(time.thread_time_ns())

    def steps_us(self) -> Iterator[float]:
        return ((after - before) / 1e3 for before, after in zip(self[WARMUP:], self[WARMUP + 1 :], strict=False))


def _loop(mode: str, folder: Path) -> tuple[Stamps, float | None]:
    from feedwatch.torch import FeedWatch

    model = torch.nn.Linear(4, 1).to("emulated")
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    data: Any = [torch.ones(2, 4).pin_memory()] * STEPS
    watch = None
    if mode != "bare":
        watch = FeedWatch(folder, console=False, device="emulated" if mode == "events" else "cpu")
    stamps, copying = Stamps(), nullcontext if watch is None else watch.copying
    for number, batch in enumerate(data if watch is None else watch(data)):
        stamps.here()
        with copying():
            here = batch.to("emulated", non_blocking=True)
        torch.emulated.kernel(KERNEL_MS)
        optimizer.zero_grad()
        model(here).sum().backward()
        optimizer.step()
        if number % SYNC_EVERY == 0:
            torch.accelerator.synchronize()
    report = None if watch is None else watch.close()
    return stamps, None if report is None else report.self_cost.us_per_step


def _lightning(mode: str, folder: Path) -> tuple[Stamps, float | None]:
    import lightning.pytorch as pl

    from feedwatch.hooks.lightning.callback import Instruments
    from feedwatch.lightning import FeedWatch
    from tests.emulated.training import trainer

    class Model(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch: Any, number: int) -> Any:
            stamps.here()
            torch.emulated.kernel(KERNEL_MS)
            if number % SYNC_EVERY == 0:
                torch.accelerator.synchronize()
            return self.layer(batch).sum()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 1e-3)

    class WithoutDevice(FeedWatch):
        def instruments(self, trainer: Any) -> Instruments:
            return Instruments()

    stamps = Stamps()
    watch = None
    if mode != "bare":
        watch = (FeedWatch if mode == "events" else WithoutDevice)(folder, console=False)
    callbacks = [] if watch is None else [watch]
    data = DataLoader([torch.ones(2, 4).pin_memory()] * STEPS, batch_size=None)  # type: ignore[arg-type]
    trainer(0, max_epochs=1, callbacks=callbacks).fit(Model(), data)
    return stamps, None if watch is None else watch.report.self_cost.us_per_step


DOORS: Final = {"torch loop": _loop, "Lightning": _lightning}


def measure(emulated: Emulated) -> list[Cost]:
    torch.set_num_threads(1)
    return [_cost(emulated, door) for door in DOORS]


def _cost(emulated: Emulated, door: str) -> Cost:
    spent: dict[str, list[float]] = {"bare": [], "host": [], "events": []}
    said: list[float] = []
    for _ in range(ROUNDS):
        for mode in spent:
            emulated.reset()
            with tempfile.TemporaryDirectory() as folder:
                stamps, own_us = DOORS[door](mode, Path(folder))
            spent[mode] += stamps.steps_us()
            said += [own_us] if mode == "events" and own_us is not None else []
    bare_us, host_us, events_us = (quantiles(steps_us, n=10)[0] for steps_us in spent.values())
    return Cost(door, bare_us, host_us - bare_us, events_us - host_us, median(said) if said else None)
