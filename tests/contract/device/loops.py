"""What a training loop can do to a device, in milliseconds: a real Trainer on the emulated device, names are test ids."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader, IterableDataset

from feedwatch.model.verdict import Bound
from tests.contract.device.scenes import KeepingWatch
from tests.emulated.training import trainer

STEPS = 44


@dataclass(frozen=True)
class Loop:
    verdict: Bound
    load: Callable[[int], float] = lambda index: 1.0  # one batch in the background
    depth: int = 4  # batches that may be made ahead
    forward: tuple[float, ...] = (6.0,)
    backward: tuple[float, ...] = (10.0,)
    launch: float = 0.0  # host time per kernel
    copy: float = 0.2
    copy_blocks: bool = False
    sync_in_step: int = 0  # every so many steps: `.item()` on the loss
    sync_in_optimizer: bool = False
    sync_after_step: bool = False  # a callback, before the next fetch
    callback_kernel: float = 0.0
    callback_host: float = 0.0
    validate_every: int | None = None
    own_fetch: bool = False  # dataloader_iter
    accumulate: int = 1
    synchronises: bool = False


def _jitter(index: int) -> float:
    return (4.0, 70.0, 9.0, 6.0, 16.0)[index % 5]


LOOPS: dict[str, Loop] = {
    "input_bound": Loop(Bound.INPUT, load=lambda index: 30.0),
    "host_waits_while_device_is_busy": Loop(Bound.COMPUTE, load=lambda index: 13.0),
    "compute_bound": Loop(Bound.COMPUTE),
    "read_every_20_steps": Loop(Bound.COMPUTE, sync_in_step=20),
    # Without a profiler window the clock cannot see gaps inside the step; it must not call them input.
    "launch_bound": Loop(Bound.COMPUTE, forward=(0.1,) * 10, backward=(0.1,) * 20, launch=0.5),
    "read_every_step": Loop(Bound.COMPUTE, sync_in_step=1, synchronises=True),
    "input_bound_and_read_every_step": Loop(Bound.INPUT, load=lambda index: 28.0, sync_in_step=1),
    "progress_bar_reads": Loop(Bound.COMPUTE, sync_after_step=True, synchronises=True),
    "gradient_scaler": Loop(Bound.COMPUTE, sync_in_optimizer=True, synchronises=True),
    "pageable_copy": Loop(Bound.TRANSFER, copy=5.0, copy_blocks=True),
    "kernels_in_a_callback": Loop(Bound.HOST, callback_kernel=6.0),
    "slow_callback": Loop(Bound.HOST, callback_host=28.0),
    "jittery_loader": Loop(Bound.INPUT, load=_jitter, depth=2),
    "one_spike_in_sixteen": Loop(
        Bound.INPUT, load=lambda index: 200.0 if index % 16 == 15 else 1.0, sync_in_step=10, depth=2
    ),
    "own_fetch_in_the_step": Loop(Bound.INPUT, load=lambda index: 30.0, own_fetch=True),
    "validation_and_accumulation": Loop(Bound.INPUT, load=lambda index: 30.0, validate_every=16, accumulate=3),
}


class Batches:
    """A loader with background workers: batch n is ready one load after the one before it, and `depth` ahead at most."""

    def __init__(self, loop: Loop) -> None:
        self.loop, self.waits = loop, []
        # A pageable copy would make the host wait at every step.
        self.batches = [torch.zeros(2, 1).pin_memory() for _ in range(STEPS)]

    def __len__(self) -> int:
        return STEPS

    def __iter__(self):
        ready, taken = time.perf_counter(), []
        for index in range(STEPS):
            asked_ns = time.perf_counter_ns()
            slot = taken[index - self.loop.depth] if index >= self.loop.depth else ready
            ready = max(ready, slot) + self.loop.load(index) / 1e3
            time.sleep(max(0.0, ready - time.perf_counter()))
            taken.append(time.perf_counter())
            self.waits.append((asked_ns, time.perf_counter_ns()))
            yield self.batches[index]


class SilentBatches(IterableDataset):
    def __iter__(self):
        yield from (torch.zeros(2, 1) for _ in range(2))


class Model(pl.LightningModule):
    def __init__(self, loop: Loop) -> None:
        super().__init__()
        self.loop = loop
        self.layer = torch.nn.Linear(1, 1)

    def _kernels(self, kernels):
        for ms in kernels:
            if self.loop.launch:
                time.sleep(self.loop.launch / 1e3)
            torch.emulated.kernel(ms, "step")

    def _forward(self, batch, index):
        self._kernels(self.loop.forward)
        every = self.loop.sync_in_step
        if every and index % every == every - 1:
            torch.accelerator.synchronize()
        return self.layer(batch).sum() * 0

    def training_step(self, batch, index):
        return self._forward(batch, index)

    def validation_step(self, batch, index):
        torch.emulated.kernel(7.0, "validation")
        torch.accelerator.synchronize()

    def transfer_batch_to_device(self, batch, device, dataloader_idx):
        if self.trainer.training:
            torch.emulated.kernel(self.loop.copy, "copy")
            if self.loop.copy_blocks:
                torch.accelerator.synchronize()
        return super().transfer_batch_to_device(batch, device, dataloader_idx)

    def backward(self, loss):
        self._kernels(self.loop.backward)
        super().backward(loss)

    def optimizer_step(self, epoch, batch_idx, optimizer, optimizer_closure):
        super().optimizer_step(epoch, batch_idx, optimizer, optimizer_closure)
        if self.loop.sync_in_optimizer:
            torch.accelerator.synchronize()
        torch.emulated.kernel(0.05, "optimizer")

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class OwnFetchModel(Model):
    def training_step(self, dataloader_iter):
        batch, index, _ = next(dataloader_iter)
        torch.emulated.kernel(self.loop.copy, "copy")
        return self._forward(batch.to(self.device), index)


class Bystander(pl.Callback):
    def __init__(self, loop: Loop) -> None:
        self.loop = loop

    def on_train_batch_end(self, *_):
        if self.loop.callback_host:
            time.sleep(self.loop.callback_host / 1e3)
        if self.loop.callback_kernel:
            torch.emulated.kernel(self.loop.callback_kernel, "callback")
        if self.loop.sync_after_step:
            torch.accelerator.synchronize()

    def on_train_epoch_end(self, *_):
        torch.accelerator.synchronize()


def watched(loop: Loop, tmp_path):
    """The callback after its fit, and when the loop waited for batches."""
    watch, batches = KeepingWatch(tmp_path, console=False), Batches(loop)
    options = {"val_check_interval": loop.validate_every} if loop.validate_every else {}
    fit = trainer(
        0,
        max_epochs=1,
        callbacks=[Bystander(loop), watch],
        num_sanity_val_steps=0,
        accumulate_grad_batches=loop.accumulate,
        **options,
    ).fit
    val = DataLoader(SilentBatches(), batch_size=None) if loop.validate_every else None
    fit((OwnFetchModel if loop.own_fetch else Model)(loop), batches, val)
    return watch, batches.waits
