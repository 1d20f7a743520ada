"""A real Lightning Trainer with a real pinning DataLoader trains on it, with the CPU's losses."""

from itertools import pairwise

import lightning.pytorch as pl
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from tests.emulated.training import trainer

STEPS, BATCH, FEATURES = 12, 4, 16


class Model(pl.LightningModule):
    def __init__(self, kernel_ms=0.0):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(FEATURES, 8), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1)
        )
        self.kernel_ms, self.losses, self.devices = kernel_ms, [], set()

    def training_step(self, batch, _index):
        features, target = batch
        self.devices.add(str(features.device))
        if self.kernel_ms:
            torch.emulated.kernel(self.kernel_ms, "step")
        loss = torch.nn.functional.mse_loss(self.layers(features), target)
        self.losses.append(loss.detach())
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1, momentum=0.9)


def loader(**options):
    generator = torch.Generator().manual_seed(3)
    count = STEPS * BATCH
    features, target = (torch.randn(count, width, generator=generator) for width in (FEATURES, 1))
    return DataLoader(TensorDataset(features, target), batch_size=BATCH, **options)


def fit(make_trainer, model_options=None, **loader_options):
    torch.manual_seed(11)
    model = Model(**model_options or {})
    make_trainer(max_epochs=1).fit(model, loader(**loader_options))
    return model


def cpu_trainer(**options):
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
    return pl.Trainer(accelerator="cpu", logger=False, **quiet, **options)


@pytest.fixture(scope="module")
def cpu_losses():
    return [loss.item() for loss in fit(cpu_trainer).losses]


@pytest.mark.parametrize("workers", [0, 1])
def test_the_losses_are_the_cpus(emulated, cpu_losses, workers):
    model = fit(trainer, num_workers=workers, pin_memory=True)
    assert model.devices == {"emulated:0"}
    assert [loss.item() for loss in model.losses] == cpu_losses
    # Two tensors per batch, all pinned by the loader; Lightning copies pinned ones with non_blocking.
    assert emulated.counters().copies["pinned_to_device"] == 2 * STEPS


def test_the_host_runs_ahead_of_a_device_with_pinned_batches(emulated, cpu_losses):
    fit(trainer, model_options={"kernel_ms": 8}, pin_memory=True)
    torch.accelerator.synchronize()
    steps = [it for it in emulated.operations("kernel") if it.name == "step"]
    assert len(steps) == STEPS
    assert max(it.start_ns - it.enqueued_ns for it in steps) > 8_000_000


def test_the_host_waits_at_every_pageable_batch(emulated, cpu_losses):
    fit(trainer, model_options={"kernel_ms": 8})
    torch.accelerator.synchronize()
    assert emulated.counters().copies["pageable_to_device"] >= 2 * STEPS
    steps = [it for it in emulated.operations("kernel") if it.name == "step"]
    # The copy of batch n returned when the kernel of step n - 1 was done.
    assert all(later.enqueued_ns >= earlier.end_ns for earlier, later in pairwise(steps))


def test_it_trains_on_the_second_device(emulated, cpu_losses):
    model = fit(lambda **options: trainer(1, **options), pin_memory=True)
    assert model.devices == {"emulated:1"}
    assert [loss.item() for loss in model.losses] == cpu_losses
