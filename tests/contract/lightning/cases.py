"""One entry per case: what is fitted, how, and what must come out of it. Names are the test ids."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils.data import DataLoader

from tests.contract.lightning import models
from tests.contract.lightning.models import NoisyItems, NoisyStream, WholeBatches, loader, variant


@dataclass(frozen=True)
class Case:
    data: Callable[[Any], Any] = lambda pl: loader()
    model: Callable[[Any], Any] = variant
    trainer: dict = field(default_factory=dict)
    profiler: Callable[[Any, Any], Any] | None = None
    val: bool = False
    fits: int = 1
    watchers: int = 1
    raises: type[BaseException] | None = None
    resume_at: int | None = None  # steps after which a checkpoint is taken
    batches_per_step: int = 1
    slow: bool = False


class _Batches:
    def __len__(self):
        return 5

    def __iter__(self):
        return iter([(torch.rand(4, 6), torch.rand(4, 1)) for _ in range(5)])


def _combined(pl, mode):
    from importlib import import_module

    combined = import_module(f"{pl.__name__}.utilities.combined_loader").CombinedLoader
    return combined({"a": loader(32), "b": loader(16)}, mode)


def _pair_step(self, batch, index):
    (a, b) = (batch["a"], batch["b"])
    return sum(self.loss(part) for part in (a, b) if part is not None)


def _iter_step(self, dataloader_iter):
    batch, _, _ = next(dataloader_iter)
    return self.loss(batch)


def _two_batches_step(self, dataloader_iter):
    first, _, _ = next(dataloader_iter)
    second, _, _ = next(dataloader_iter)
    return self.loss(first) + self.loss(second)


def _manual_step(self, batch, index):
    optimizer = self.optimizers()
    loss = self.loss(batch)
    optimizer.zero_grad()
    self.manual_backward(loss)
    optimizer.step()


def _manual_init(self):
    super(type(self), self).__init__()
    self.automatic_optimization = False


def _failing_step(self, batch, index):
    if index == 5:
        raise RuntimeError("the step is broken")
    return self.loss(batch)


def _interrupted_step(self, batch, index):
    if index == 5:
        raise KeyboardInterrupt
    return self.loss(batch)


def _sometimes_none_step(self, batch, index):
    return None if index % 3 == 1 else self.loss(batch)


def _skipping_start(self, batch, index):
    return -1 if index == 4 else None


def _profiler(name):
    def make(pl, directory):
        from importlib import import_module

        return getattr(import_module(f"{pl.__name__}.profilers"), name)(dirpath=directory, filename="profile")

    return make


def _stateful(pl):
    from torchdata.stateful_dataloader import StatefulDataLoader

    return StatefulDataLoader(NoisyItems(), batch_size=4, num_workers=2)


def _workers(count, **settings):
    return lambda pl: loader(num_workers=count, **settings)


TWO_EPOCHS = {"max_epochs": 2}

CASES: dict[str, Case] = {
    "map_style": Case(trainer=TWO_EPOCHS),
    "two_workers": Case(_workers(2), trainer=TWO_EPOCHS),
    "persistent_workers": Case(_workers(2, persistent_workers=True), trainer={"max_epochs": 3}),
    "custom_collate": Case(_workers(2, collate_fn=models.custom_collate)),
    "shuffled": Case(_workers(0, shuffle=True), trainer=TWO_EPOCHS),
    "iterable": Case(lambda pl: DataLoader(NoisyStream(), batch_size=4), trainer=TWO_EPOCHS),
    "iterable_two_workers": Case(lambda pl: DataLoader(NoisyStream(), batch_size=4, num_workers=2)),
    "whole_batches": Case(lambda pl: DataLoader(WholeBatches(), batch_size=None)),
    "whole_batches_two_workers": Case(lambda pl: DataLoader(WholeBatches(), batch_size=None, num_workers=2)),
    "stateful_loader": Case(_stateful, trainer=TWO_EPOCHS),
    "no_loader_but_an_iterable": Case(lambda pl: _Batches()),
    "spawned_workers": Case(_workers(1, multiprocessing_context="spawn"), slow=True),
    "forkserver_workers": Case(_workers(1, multiprocessing_context="forkserver"), slow=True),
    "dataloader_iter": Case(model=lambda pl: variant(pl, training_step=_iter_step), trainer=TWO_EPOCHS),
    "dataloader_iter_two": Case(model=lambda pl: variant(pl, training_step=_two_batches_step), batches_per_step=2),
    "combined_min_size": Case(lambda pl: _combined(pl, "min_size"), lambda pl: variant(pl, training_step=_pair_step)),
    "combined_max_size": Case(lambda pl: _combined(pl, "max_size"), lambda pl: variant(pl, training_step=_pair_step)),
    "combined_cycle": Case(
        lambda pl: _combined(pl, "max_size_cycle"),
        lambda pl: variant(pl, training_step=_pair_step),
        trainer=TWO_EPOCHS,
    ),
    "accumulation": Case(trainer={"accumulate_grad_batches": 3, **TWO_EPOCHS}),
    "manual_optimisation": Case(model=lambda pl: variant(pl, __init__=_manual_init, training_step=_manual_step)),
    "val_check_interval": Case(trainer={"val_check_interval": 3}, val=True),
    "sanity_check": Case(trainer={"num_sanity_val_steps": 2, **TWO_EPOCHS}, val=True),
    "reload_every_epoch": Case(_workers(1), trainer={"reload_dataloaders_every_n_epochs": 1, "max_epochs": 3}),
    "limit_train_batches": Case(trainer={"limit_train_batches": 5, **TWO_EPOCHS}),
    "overfit_batches": Case(_workers(0, shuffle=True), trainer={"overfit_batches": 3, **TWO_EPOCHS}),
    "max_steps": Case(trainer={"max_steps": 11, "max_epochs": -1}),
    "fast_dev_run": Case(trainer={"fast_dev_run": 3}, val=True),
    "fit_twice": Case(_workers(1, persistent_workers=True), fits=2),
    "resume_at_epoch_end": Case(resume_at=8),
    "resume_in_mid_epoch": Case(resume_at=5),
    "exception_in_step": Case(model=lambda pl: variant(pl, training_step=_failing_step), raises=RuntimeError),
    "exception_in_dataset": Case(lambda pl: DataLoader(NoisyItems(fail_at=22), batch_size=4), raises=ValueError),
    "exception_in_worker": Case(
        lambda pl: DataLoader(NoisyItems(fail_at=22), batch_size=4, num_workers=2), raises=ValueError
    ),
    "keyboard_interrupt": Case(model=lambda pl: variant(pl, training_step=_interrupted_step), raises=SystemExit),
    "rest_of_epoch_skipped": Case(
        model=lambda pl: variant(pl, on_train_batch_start=_skipping_start), trainer=TWO_EPOCHS
    ),
    "step_returns_none": Case(model=lambda pl: variant(pl, training_step=_sometimes_none_step)),
    "simple_profiler": Case(profiler=_profiler("SimpleProfiler"), val=True),
    "advanced_profiler": Case(profiler=_profiler("AdvancedProfiler")),
    "pytorch_profiler": Case(profiler=_profiler("PyTorchProfiler")),
    "barebones": Case(trainer={"barebones": True}),
    "two_watchers": Case(watchers=2),
}
