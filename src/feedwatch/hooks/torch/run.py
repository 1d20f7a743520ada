"""A run on torch: the engine, the device's own clock where there is one, and the loaders that feed it."""

from typing import NamedTuple

import torch

from feedwatch.hooks.destination import Destination
from feedwatch.hooks.run import WatchedRun
from feedwatch.hooks.torch.device import device_clock, memory_of
from feedwatch.hooks.torch.loader import TrainLoaders
from feedwatch.hooks.torch.meter import DeviceSteps
from feedwatch.measure.steps import Ends
from feedwatch.measure.usual_steps import ColumnReader
from feedwatch.model.facts import RunFacts
from feedwatch.settings import Settings


class TorchRun(NamedTuple):
    run: WatchedRun
    loaders: TrainLoaders
    device: DeviceSteps | None  # None: the host computes by itself, or the device has no clock


def open_run(
    facts: RunFacts, settings: Settings, destination: Destination, device: torch.device, ends: Ends
) -> TorchRun:
    clock = device_clock(device)
    reader = ColumnReader(ends=ends, device=clock is not None)
    run = WatchedRun(facts, settings, destination, reader)
    run.counts_memory(memory_of(device))
    steps = None if clock is None else DeviceSteps(clock, run)
    if steps is not None:
        run.on_close.append(lambda: run.guard.run(steps.close, run.now_ns()))
    loaders = TrainLoaders(run.session)
    run.session.each_window("the loader's figures", loaders.read)
    run.undo.later(loaders.end)
    return TorchRun(run, loaders, steps)
