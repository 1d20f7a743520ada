"""A real Trainer whose data, step, copy and callbacks cost time on the simulated device instead of on this machine."""

import lightning.pytorch as pl
import torch
from torch.utils.data import IterableDataset

from feedwatch.hooks.lightning.callback import Instruments
from feedwatch.lightning import FeedWatch
from feedwatch.model.steps import StepRecord
from tests.simulated.device import SimulatedClock, SimulatedDevice, VirtualHost
from tests.simulated.scenarios import STEPS, Scenario


class Rig:
    def __init__(self, scenario: Scenario, fast_loader: bool = False):
        self.scenario = scenario
        self.host = VirtualHost()
        self.device = SimulatedDevice(self.host)
        self.clock = SimulatedClock(self.device)
        self.load = (lambda index: 0.0) if fast_loader else scenario.load
        self.waits = []  # the loader's own log: (from, to) of every fetch


class Batches:
    """A loader with background workers: batch n is ready one load after the one before it, and `depth` ahead at most."""

    def __init__(self, rig, count=STEPS):
        self.rig, self.count = rig, count

    def __len__(self):
        return self.count

    def __iter__(self):
        rig = self.rig
        ready_ns, taken_ns = rig.host.now_ns(), []
        for index in range(self.count):
            began_ns = rig.host.now_ns()
            slot_ns = taken_ns[index - rig.scenario.depth] if index >= rig.scenario.depth else ready_ns
            ready_ns = max(ready_ns, slot_ns) + rig.load(index) * 1e6
            rig.host.wait_until(ready_ns)
            taken_ns.append(rig.host.now_ns())
            rig.waits.append((began_ns, rig.host.now_ns()))
            yield torch.zeros(2, 1)


class SilentBatches(IterableDataset):
    def __iter__(self):
        yield from (torch.zeros(2, 1) for _ in range(2))


class Model(pl.LightningModule):
    def __init__(self, rig):
        super().__init__()
        self.rig = rig
        self.layer = torch.nn.Linear(1, 1)

    def _kernels(self, kernels):
        for ms in kernels:
            self.rig.host.work_ms(self.rig.scenario.launch)
            self.rig.device.launch(ms)

    def _forward(self, batch, index):
        self._kernels(self.rig.scenario.forward)
        every = self.rig.scenario.sync_in_step
        if every and index % every == every - 1:
            self.rig.device.synchronise()
        return self.layer(batch).sum() * 0

    def training_step(self, batch, index):
        return self._forward(batch, index)

    def validation_step(self, batch, index):
        self.rig.device.launch(7.0)
        self.rig.device.synchronise()

    def transfer_batch_to_device(self, batch, device, dataloader_idx):
        if self.trainer.training:
            self.rig.device.copy(self.rig.scenario.copy, blocking=self.rig.scenario.copy_blocks)
        return batch

    def backward(self, loss):
        self._kernels(self.rig.scenario.backward)
        super().backward(loss)

    def optimizer_step(self, epoch, batch_idx, optimizer, optimizer_closure):
        super().optimizer_step(epoch, batch_idx, optimizer, optimizer_closure)
        if self.rig.scenario.sync_in_optimizer:
            self.rig.device.synchronise()
        self.rig.device.launch(0.05)

    def on_train_end(self):
        self.rig.device.synchronise()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class OwnFetchModel(Model):
    def training_step(self, dataloader_iter):
        batch, index, _ = next(dataloader_iter)
        self.rig.device.copy(self.rig.scenario.copy)
        return self._forward(batch, index)


class Bystander(pl.Callback):
    def __init__(self, rig):
        self.rig = rig

    def on_train_batch_end(self, trainer, *_):
        scenario, device = self.rig.scenario, self.rig.device
        self.rig.host.work_ms(scenario.callback_host)
        if scenario.callback_kernel:
            device.launch(scenario.callback_kernel)
        if scenario.sync_after_step:
            device.synchronise()


class SimulatedFeedWatch(FeedWatch):
    """Our callback with the simulator's clocks; keeps every step record."""

    def __init__(self, rig, log_dir):
        super().__init__(log_dir, profile=False, console=False)
        self.rig, self.records = rig, []

    def instruments(self, trainer):
        return Instruments(clock=self.rig.host, device_clock=self.rig.clock)

    def _open(self, trainer):
        super()._open(trainer)
        self.session = self._run.session
        windows = self.session._digest.windows
        add = windows.add

        def keep(item):
            if isinstance(item, StepRecord):
                self.records.append(item)
            return add(item)

        windows.add = keep


def fit(rig: Rig, callbacks: list) -> None:
    scenario = rig.scenario
    trainer = pl.Trainer(
        accelerator="cpu",
        max_epochs=1,
        callbacks=[Bystander(rig), *callbacks],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        accumulate_grad_batches=scenario.accumulate,
        **({"val_check_interval": scenario.validate_every} if scenario.validate_every else {}),
    )
    model = (OwnFetchModel if scenario.own_fetch else Model)(rig)
    val = torch.utils.data.DataLoader(SilentBatches(), batch_size=None) if scenario.validate_every else None
    trainer.fit(model, Batches(rig), val)
