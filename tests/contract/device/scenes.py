"""Trainings on the emulated device whose truth is known: what is loaded, copied and computed is given in milliseconds.

What a run did is in the device's log, when it asked for its batches the loader writes down: `off_ms` compares every
step with the truth of that step, so that a neighbour on the machine changes both and not their difference.
"""

import time
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader, Dataset

from feedwatch.lightning import FeedWatch
from feedwatch.model.steps import StepKind, StepRecord
from feedwatch.torch import FeedWatch as LoopWatch
from tests.contract.records import kept_records
from tests.emulated.training import trainer
from tests.emulated.truth import busy_ns

MS = 1_000_000
WARMUP = 3


@dataclass(frozen=True)
class Scene:
    load_ms: float = 1.0
    kernel_ms: float = 10.0
    mb: float = 0.01
    pin: bool = False
    workers: int = 1
    steps: int = 40
    read_loss: bool = False  # in a callback, after every step
    prepare_ms: float = 0.0  # a kernel in on_after_batch_transfer
    kernels: int = 1
    callback_ms: float = 0.0  # host work after every step

    @property
    def floats(self) -> int:
        return max(4, int(self.mb * 1e6 / 4))


class Items(Dataset):
    def __init__(self, scene):
        self.scene = scene

    def __len__(self):
        return self.scene.steps

    def __getitem__(self, index):
        time.sleep(self.scene.load_ms / 1e3)
        return torch.full((self.scene.floats,), float(index % 7))


class Loader(DataLoader):
    """Writes down when each batch was asked for and when it was there."""

    def __init__(self, scene):
        super().__init__(Items(scene), batch_size=1, num_workers=scene.workers, pin_memory=scene.pin)
        self.asked_and_got_ns = []

    def __iter__(self):
        batches = super().__iter__()
        next_data = batches._next_data

        def stamped():
            asked_ns = time.perf_counter_ns()
            batch = next_data()
            self.asked_and_got_ns.append((asked_ns, time.perf_counter_ns()))
            return batch

        batches._next_data = stamped
        return batches


class Model(pl.LightningModule):
    def __init__(self, scene):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
        self.scene = scene

    def on_after_batch_transfer(self, batch, _):
        if self.scene.prepare_ms:
            torch.emulated.kernel(self.scene.prepare_ms, "prepare", device=batch.device)
        return batch

    def training_step(self, batch, _):
        for _ in range(self.scene.kernels):
            torch.emulated.kernel(self.scene.kernel_ms / self.scene.kernels, "step", device=batch.device)
        return self.layer(batch[:, :4]).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 1e-3)


class Bystander(pl.Callback):
    def __init__(self, scene):
        self.scene = scene

    def on_train_batch_end(self, trainer, module, outputs, *_):
        if self.scene.callback_ms:
            time.sleep(self.scene.callback_ms / 1e3)
        if self.scene.read_loss:
            outputs["loss"].item()

    def on_train_epoch_end(self, *_):
        torch.accelerator.synchronize()


@dataclass
class Outcome:
    report: Any
    facts: Any
    records: list[StepRecord] = field(default_factory=list)
    parameters: list[torch.Tensor] = field(default_factory=list)
    asked_and_got_ns: list[tuple[int, int]] = field(default_factory=list)

    @property
    def steady(self) -> list[StepRecord]:
        return [record for record in self.records if record.kind is StepKind.STEADY]

    def typical_ms(self, name: str) -> float:
        """The median: a step that was interrupted tells about the machine."""
        return median(getattr(record, name) for record in self.steady) / MS

    @property
    def codes(self) -> set[str]:
        return {finding.code for finding in self.report.findings}


class Truth(NamedTuple):
    """What the device did for one batch, from its log and the loader's stamps, in nanoseconds.

    Between its work the device may stand still because the host comes late. Then a figure may hold that gap, or its
    neighbour may: each has a least and a most.
    """

    starved: tuple[int, int]
    copy: tuple[int, int]
    compute: tuple[int, int]


FIELDS = {"starved": "starved_ns", "copy": "h2d_ns", "compute": "compute_ns"}


def truth(emulated, scene, outcome) -> list[Truth]:
    """Of every batch but the last, whose end is not stamped."""
    work = [it for it in emulated.operations(device=0) if it.kind in ("kernel", "copy") and it.duration_ns]
    copies = [it for it in work if it.kind == "copy" and it.size_bytes >= 4 * scene.floats]
    kernels = [it for it in work if it.name == "step"]
    assert len(copies) == len(kernels) == scene.steps
    found, free_ns = [], 0
    for copy, kernel, (asked, got), (next_asked, _) in zip(
        copies, kernels, outcome.asked_and_got_ns, outcome.asked_and_got_ns[1:], strict=False
    ):
        began, ended = max(got, free_ns), max(next_asked, kernel.end_ns)
        idle = got - asked - busy_ns(work, asked, got)
        most_copy, most_compute = kernel.start_ns - began, ended - began - copy.duration_ns
        found.append(Truth((idle, idle), (copy.duration_ns, most_copy), (kernel.duration_ns, most_compute)))
        free_ns = kernel.end_ns
    return found


def off_ms(emulated, scene, outcome) -> dict[str, float]:
    """How far each figure is from the truth of the same step, as the median over the steady steps."""
    steps = truth(emulated, scene, outcome)
    steady = [record for record in outcome.steady if record.step <= len(steps)]
    found = {}
    for name, field_name in FIELDS.items():
        said = [(getattr(record, field_name), getattr(steps[record.step - 1], name)) for record in steady]
        found[name] = median(max(least - ns, ns - most, 0) for ns, (least, most) in said) / MS
    return found


def stalled(emulated, scene, outcome) -> float:
    """The share of the steady steps in which the device had no work because the loop waited for its batch."""
    steps = truth(emulated, scene, outcome)
    steady = [record for record in outcome.steady if record.step <= len(steps)]
    return sum(steps[record.step - 1].starved[0] for record in steady) / sum(record.wall_ns for record in steady)


class KeepingWatch(FeedWatch):
    def _open(self, trainer):
        super()._open(trainer)
        self.session = self._run.session
        self.records = kept_records(self.session)
        self.meter = self._fit.meter

    @property
    def meter_events(self):
        """So many events were ever made."""
        return len(self.meter._pool)


def fit(scene, tmp_path, *, index=0, watch=True, callbacks=(), **options) -> Outcome:
    """A real Trainer and a real DataLoader. Without `watch` the outcome has weights only."""
    torch.manual_seed(5)
    model = Model(scene)
    ours = [KeepingWatch(tmp_path, console=False, **options)] if watch else []
    batches = Loader(scene)
    trainer(index, max_epochs=1, callbacks=[Bystander(scene), *callbacks, *ours]).fit(model, batches)
    weights = [parameter.detach().cpu() for parameter in model.parameters()]
    if not watch:
        return Outcome(None, None, [], weights)
    return Outcome(ours[0].report, ours[0].session.facts, ours[0].records, weights, batches.asked_and_got_ns)


def loop(scene, tmp_path, *, device="emulated:0", watch=True, epochs=1, data=None) -> Outcome:
    """A loop of one's own on the same device. `data`: something else than the scene's own loader."""
    torch.manual_seed(5)
    model = torch.nn.Linear(4, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    ours = LoopWatch(tmp_path, console=False, device=device) if watch else None
    records: list[StepRecord] = []
    batches = Loader(scene) if data is None else data
    for _ in range(epochs):
        for number, batch in enumerate(batches if ours is None else ours(batches)):
            if ours is not None and number == 0 and not records:
                records = kept_records(ours._run.session)
            _loop_step(scene, model, optimizer, ours, batch, device)
        torch.accelerator.synchronize()
    weights = [parameter.detach().cpu() for parameter in model.parameters()]
    if ours is None:
        return Outcome(None, None, [], weights)
    asked = batches.asked_and_got_ns if data is None else []
    return Outcome(ours.close(), ours._run.session.facts, records, weights, asked)


def _loop_step(scene, model, optimizer, watch, batch, device):
    if watch is None:
        batch = batch.to(device, non_blocking=True)
    else:
        with watch.copying():
            batch = batch.to(device, non_blocking=True)
    torch.emulated.kernel(scene.kernel_ms, "step", device=torch.device(device))
    optimizer.zero_grad()
    model(batch[:, :4]).sum().backward()
    optimizer.step()
    if scene.read_loss:
        float(model.weight.sum().item())
