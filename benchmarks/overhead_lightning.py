"""What a callback or profiler adds to one training step of a Lightning Trainer.

The same model is fitted with and without, in pairs that stand side by side in time. The clocks are read at the
start of each `training_step`, by the model itself, so that the bare fit is timed without any callback.
"""

import logging
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
warnings.filterwarnings("ignore")

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback, DeviceStatsMonitor, ThroughputMonitor
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.profilers import PyTorchProfiler, SimpleProfiler
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.paired import compared, spread, take_pair
from benchmarks.part import Effort, run_part
from benchmarks.stopwatch import WARM_STEPS, Reading, figures, read_clocks

BARE, LOGGED, OURS, EMPTY = "no callback", "no callback, CSVLogger", "feedwatch", "empty callback"
BATCH = 8
FIVE_MS = (640, 4)  # width and layers of a model whose step takes about as long on one core


@dataclass(frozen=True, slots=True)
class Size:
    width: int
    layers: int
    steps: int


class Model(pl.LightningModule):
    def __init__(self, size: Size) -> None:
        super().__init__()
        body = [torch.nn.Linear(size.width, size.width) for _ in range(size.layers)]
        self.layers = torch.nn.Sequential(*body, torch.nn.Linear(size.width, 1))
        self.readings: list[Reading] = []

    def training_step(self, batch, index):
        self.readings.append(read_clocks())
        inputs, targets = batch
        return torch.nn.functional.mse_loss(self.layers(inputs), targets)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.001)


class Empty(Callback):
    pass


@dataclass(frozen=True, slots=True)
class Variant:
    """`against`: what it is compared with; a monitor that needs a logger is not charged for the logger."""

    callbacks: Callable[[], list[Any]] = list
    profiler: Callable[[str], Any] | None = None
    against: str = BARE
    logger: bool = field(default=False)


def _feedwatch() -> list[Any]:
    from feedwatch.lightning import FeedWatch

    return [FeedWatch(console=False)]


VARIANTS: dict[str, Variant] = {
    BARE: Variant(),
    EMPTY: Variant(lambda: [Empty()]),
    OURS: Variant(_feedwatch),
    "SimpleProfiler": Variant(profiler=lambda directory: SimpleProfiler(directory, "simple")),
    "PyTorchProfiler": Variant(profiler=lambda directory: PyTorchProfiler(directory, "torch")),
    LOGGED: Variant(logger=True),
    "DeviceStatsMonitor": Variant(lambda: [DeviceStatsMonitor(cpu_stats=True)], None, LOGGED, logger=True),
    "ThroughputMonitor": Variant(lambda: [ThroughputMonitor(lambda batch: len(batch[0]))], None, LOGGED, logger=True),
}


def fit(size: Size, variant: Variant) -> tuple[dict[str, float], list[Any]]:
    torch.manual_seed(0)
    samples = BATCH * (size.steps + WARM_STEPS)
    loader = DataLoader(TensorDataset(torch.randn(samples, size.width), torch.randn(samples, 1)), batch_size=BATCH)
    model, callbacks = Model(size), variant.callbacks()
    with tempfile.TemporaryDirectory() as directory:
        trainer = pl.Trainer(
            max_epochs=1,
            accelerator="cpu",
            callbacks=callbacks,
            profiler=variant.profiler(directory) if variant.profiler else None,
            logger=CSVLogger(directory) if variant.logger else False,
            log_every_n_steps=1 if variant.logger else None,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=directory,
        )
        began = time.perf_counter()
        trainer.fit(model, loader)
        took_s = time.perf_counter() - began
    return figures([model.readings], took_s), callbacks


def measure(size: Size, pairs: Mapping[str, int]) -> dict[str, Any]:
    """`pairs`: how many per variant."""
    said: list[float] = []

    def once(name: str) -> dict[str, float]:
        row, callbacks = fit(size, VARIANTS[name])
        if name == OURS and callbacks[0].report.self_cost.us_per_step is not None:
            said.append(callbacks[0].report.self_cost.us_per_step)
        return row

    variants = {}
    for name, count in pairs.items():
        against = VARIANTS[name].against
        once(name)  # warms caches up
        taken = [take_pair(partial(once, name), partial(once, against), turn) for turn in range(count)]
        variants[name] = compared(taken, against)
    return {
        "per_call": 1,
        "steps": size.steps,
        "variants": variants,
        "says_of_itself_us": spread(said).as_dict() if said else None,
    }


def settle() -> None:
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(1)


def main(effort: Effort) -> dict[str, Any]:
    settle()
    few = dict.fromkeys((name for name in VARIANTS if name not in (BARE, LOGGED)), effort.rounds(8))
    return {
        "tiny": measure(Size(64, 2, effort.steps(150)), few | dict.fromkeys((EMPTY, OURS), effort.rounds(60))),
        "5 ms": measure(Size(*FIVE_MS, effort.steps(60)), few | dict.fromkeys((EMPTY, OURS), effort.rounds(40))),
    }


if __name__ == "__main__":
    run_part(main)
