"""What a callback or profiler adds to one training step of about half a millisecond.

    python benchmarks/overhead_lightning.py [--rounds 15] [--steps 300]

Every round fits the same tiny model once per variant, in an order that rotates; the step time is the median distance
between two `training_step` calls, and the cost the paired difference to the bare fit of the same round. Two clocks:
wall time, and CPU time of the training thread, which a busy machine disturbs far less.
"""

import argparse
import itertools
import logging
import os
import statistics
import sys
import tempfile
import time
import warnings

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
warnings.filterwarnings("ignore")

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback, DeviceStatsMonitor
from lightning.pytorch.profilers import PyTorchProfiler, SimpleProfiler
from torch.utils.data import DataLoader, TensorDataset

from feedwatch.lightning import FeedWatch

WARM_STEPS = 30


class Model(pl.LightningModule):
    """About half a millisecond per step on one core."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
        self.began_ns: list[tuple[int, int]] = []

    def training_step(self, batch, index):
        self.began_ns.append((time.perf_counter_ns(), time.thread_time_ns()))
        inputs, targets = batch
        return torch.nn.functional.mse_loss(self.layers(inputs), targets)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


class Empty(Callback):
    pass


def fit(steps: int, callbacks: list, profiler=None, logger=False) -> tuple[float, float]:
    """Median microseconds per step, wall and CPU."""
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(8 * (steps + WARM_STEPS), 64), torch.randn(8 * (steps + WARM_STEPS), 1))
    model = Model()
    with tempfile.TemporaryDirectory() as directory:
        trainer = pl.Trainer(
            max_epochs=1,
            accelerator="cpu",
            callbacks=callbacks,
            profiler=profiler(directory) if profiler else None,
            logger=pl.loggers.CSVLogger(directory) if logger else False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=directory,
        )
        trainer.fit(model, DataLoader(data, batch_size=8))
    marks = model.began_ns[WARM_STEPS:]
    pairs = list(itertools.pairwise(marks))
    wall_us, cpu_us = (statistics.median(b[clock] - a[clock] for a, b in pairs) / 1e3 for clock in (0, 1))
    return wall_us, cpu_us


def variants() -> dict:
    return {
        "bare": lambda steps: fit(steps, []),
        "empty callback": lambda steps: fit(steps, [Empty()]),
        "FeedWatch": feedwatch,
        "SimpleProfiler": lambda steps: fit(steps, [], lambda path: SimpleProfiler(path, "simple")),
        "bare + CSVLogger": lambda steps: fit(steps, [], logger=True),
        "DeviceStatsMonitor": lambda steps: fit(steps, [DeviceStatsMonitor(cpu_stats=True)], logger=True),
        "PyTorchProfiler": lambda steps: fit(steps, [], lambda path: PyTorchProfiler(path, "torch")),
    }


SAID_US: list[float] = []


def feedwatch(steps: int) -> tuple[float, float]:
    watch = FeedWatch(profile=False, console=False)
    taken_us = fit(steps, [watch])
    if watch.report is not None and watch.report.self_cost.us_per_step is not None:
        SAID_US.append(watch.report.self_cost.us_per_step)
    return taken_us


def spread(pairs: list, clock: int, label: str) -> str:
    costs = sorted(ours[clock] - bare[clock] for ours, bare in pairs)
    low, high = costs[len(costs) // 4], costs[-1 - len(costs) // 4]
    return f"{label} {statistics.median(costs):+8.1f} µs per step ({low:+.1f} .. {high:+.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--only", nargs="*", help="names of variants")
    options = parser.parse_args()
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    runs = {name: run for name, run in variants().items() if not options.only or name in ("bare", *options.only)}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    names = list(runs)
    for number in range(options.rounds + 1):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            step_us = runs[name](options.steps)
            if number:  # the first round warms caches up
                taken[name].append(step_us)
        print(f"round {number} of {options.rounds}", file=sys.stderr)
    bare_us = [statistics.median(each[clock] for each in taken["bare"]) for clock in (0, 1)]
    print(
        f"bare step {bare_us[0]:.0f} µs wall, {bare_us[1]:.0f} µs CPU; {options.rounds} rounds of {options.steps} steps"
    )
    base = {"DeviceStatsMonitor": "bare + CSVLogger"}
    for name in names[1:]:
        pairs = list(zip(taken[name], taken[base.get(name, "bare")], strict=True))
        print(f"{name:20} {spread(pairs, 0, 'wall')}   {spread(pairs, 1, 'CPU')}")
    if SAID_US:
        print(f"FeedWatch about itself {statistics.median(SAID_US):.1f} µs per step")


if __name__ == "__main__":
    main()
