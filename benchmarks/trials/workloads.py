"""Trainings whose input can be written in many ways. Each is built anew from its settings, as a person would."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Stamp = Callable[[], bool]  # told before every step; True: enough
ENDLESS = 1_000_000  # steps of an epoch: none ends while it is measured
READ_EVERY = 8  # steps on a device: a loss that is logged now and then, for which the host waits


@dataclass(frozen=True)
class Case:
    name: str
    framework: str  # torch | lightning | keras | device
    batch: int = 8
    wait_ms: float = 0.0  # of an item: storage that answers
    cpu_ms: float = 0.0  # of an item: decoding
    step_ms: float = 0.0  # of a step: a device that computes, while the host waits
    model: int = 64  # width of a real model on the CPU
    floats: int = 64  # of an item
    settings: dict[str, Any] = field(default_factory=dict)  # as the script is written
    items: int = 200_000
    jitter: float = 0.0  # spread of an item's wait


def spin(ms: float) -> None:
    """Work that takes CPU time and gives the interpreter's lock away, as decoders do."""
    until = time.thread_time() + ms / 1e3
    block = np.ones(2000)
    while time.thread_time() < until:
        np.sqrt(block, out=block)


def make_item(case: Case, index: int) -> Any:
    if case.wait_ms:
        uneven = 1 + case.jitter * ((index * 7919) % 101 / 50 - 1)
        time.sleep(case.wait_ms * uneven / 1e3)
    if case.cpu_ms:
        spin(case.cpu_ms)
    return np.full(case.floats, float(index % 7), "float32")


# -- torch, Lightning, the emulated device -------------------------------------------------------


def torch_loader(case: Case, settings: dict[str, Any]) -> Any:
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Items(Dataset):
        def __len__(self) -> int:
            return case.items

        def __getitem__(self, index: int) -> Any:
            return torch.from_numpy(make_item(case, index))

    named = {**case.settings, **settings}
    if "torch.set_num_threads" in named:
        torch.set_num_threads(named.pop("torch.set_num_threads"))
    if not named.get("num_workers"):
        named.pop("persistent_workers", None)
        named.pop("prefetch_factor", None)
    loader = DataLoader(Items(), batch_size=case.batch, shuffle=True, **named)
    return itertools.cycle([next(iter(loader)) for _ in range(8)]) if settings.get("resident") else loader


def torch_net(case: Case) -> Any:
    import torch

    torch.manual_seed(1)
    wide = torch.nn.Linear(case.floats, case.model)
    return torch.nn.Sequential(wide, torch.nn.ReLU(), torch.nn.Linear(case.model, 1))


def train_torch(case: Case, settings: dict[str, Any], stamp: Stamp, trial: float = 0) -> Any:
    import torch

    loader, model = _resident_or(torch_loader, case, settings), torch_net(case)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    watch = None
    if trial:
        from feedwatch.torch import FeedWatch

        watch = FeedWatch("runs/torch", console=False, trial=trial)
    while True:
        for batch in watch(loader) if watch else loader:
            if stamp():
                return None
            if case.step_ms:
                time.sleep(case.step_ms / 1e3)
            optimizer.zero_grad()
            model(batch).pow(2).mean().backward()
            optimizer.step()


def train_device(case: Case, settings: dict[str, Any], stamp: Stamp, trial: float = 0) -> Any:
    """On the emulated device: copies take bytes / bandwidth, pinned ones run beside the kernels. The clock is read
    where the device has caught up.
    """
    import torch

    from tests import emulated

    handle = emulated.load()
    handle.settings.pageable_gb_per_s, handle.settings.pinned_gb_per_s = 2.0, 8.0
    loader, device = _resident_or(torch_loader, case, settings), torch.device("emulated:0")
    watch = None
    if trial:
        from feedwatch.torch import FeedWatch

        watch = FeedWatch("runs/device", device=device, console=False, trial=trial)
    while True:
        for number, batch in enumerate(watch(loader) if watch else loader, start=1):
            batch.to(device, non_blocking=True)
            torch.emulated.kernel(case.step_ms, "step", device=device)
            if number % READ_EVERY == 0:
                torch.accelerator.synchronize()
                if stamp():
                    return None


def train_lightning(case: Case, settings: dict[str, Any], stamp: Stamp, trial: float = 0) -> Any:
    import logging
    import warnings

    import lightning.pytorch as pl
    import torch

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")

    class Net(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = torch_net(case)

        def training_step(self, batch: Any, index: int) -> Any:
            if stamp():
                self.trainer.should_stop = True
                raise Enough
            if case.step_ms:
                time.sleep(case.step_ms / 1e3)
            return self.net(batch).pow(2).mean()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 1e-3)

    callbacks = []
    if trial:
        from feedwatch.lightning import FeedWatch

        callbacks = [FeedWatch("runs/lightning", console=False, trial=trial)]
    trainer = pl.Trainer(
        max_epochs=-1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, callbacks=callbacks,
    )  # fmt: skip
    trainer.fit(Net(), _resident_or(torch_loader, case, settings))


class Enough(Exception):
    pass


class Resident:
    """What a resident rewrite would be: eight batches in memory."""

    def __init__(self, batches: list[Any], length: int) -> None:
        self.batches, self.length = batches, length

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Any:
        return itertools.islice(itertools.cycle(self.batches), self.length)


def _resident_or(make: Any, case: Case, settings: dict[str, Any]) -> Any:
    if not settings.get("resident"):
        return make(case, settings)
    import torch

    rows = [torch.from_numpy(np.full((case.batch, case.floats), float(number), "float32")) for number in range(8)]
    if case.settings.get("pin_memory"):
        rows = [row.pin_memory() for row in rows]
    return Resident(rows, case.items // case.batch)


# -- Keras on TensorFlow -------------------------------------------------------------------------


def keras_data(case: Case, settings: dict[str, Any]) -> Any:
    import tensorflow as tf

    auto = tf.data.AUTOTUNE
    if settings.get("resident"):
        batch = np.ones((case.batch, case.floats), "float32")
        return tf.data.Dataset.from_tensors((batch, batch[:, :1])).cache().repeat()

    def load(index: Any) -> Any:
        row = tf.numpy_function(lambda number: make_item(case, int(number)), [index], tf.float32)
        return tf.ensure_shape(row, (case.floats,)), tf.zeros((1,))

    calls = auto if "parallel map" in settings or "AUTOTUNE" in settings else case.settings.get("num_parallel_calls")
    data = tf.data.Dataset.range(case.items).map(load, num_parallel_calls=calls)
    data = data.cache() if "cache" in settings else data
    data = data.batch(case.batch, drop_remainder=True).repeat()
    if "deterministic" in settings:
        options = tf.data.Options()
        options.deterministic = False
        data = data.with_options(options)
    return data.prefetch(auto) if "prefetch" in settings or case.settings.get("prefetch") else data


def train_keras(case: Case, settings: dict[str, Any], stamp: Stamp, trial: float = 0) -> Any:
    import keras

    class Stamps(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            if stamp():
                raise Enough
            if case.step_ms:
                time.sleep(case.step_ms / 1e3)

    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [keras.layers.Input((case.floats,)), keras.layers.Dense(case.model, "relu"), keras.layers.Dense(1)]
    )
    model.compile("sgd", "mse", steps_per_execution=settings.get("steps_per_execution", 1))
    callbacks = [Stamps()]
    if trial:
        from feedwatch.keras import FeedWatch

        callbacks = [FeedWatch("runs/keras", console=False, trial=trial), *callbacks]
    data = keras_data(case, settings)
    model.fit(data, steps_per_epoch=ENDLESS, epochs=1, verbose=0, callbacks=callbacks)


TRAIN = {"torch": train_torch, "lightning": train_lightning, "keras": train_keras, "device": train_device}
IMPORTS = {
    "torch": ("torch",),
    "lightning": ("torch", "lightning.pytorch"),
    "keras": ("tensorflow", "keras"),
    "device": ("torch",),
}
CASES = (
    Case("storage", "torch", wait_ms=2.0, step_ms=6.0),
    Case("storage, uneven", "torch", wait_ms=2.0, step_ms=8.0, jitter=0.8),
    Case("decoding", "torch", cpu_ms=1.0, step_ms=8.0),
    Case("decoding beside a CPU step", "torch", cpu_ms=1.5, model=2048, floats=512),
    Case("cheap items, four workers", "torch", cpu_ms=0.05, step_ms=4.0, settings={"num_workers": 4}),
    Case("storage", "lightning", wait_ms=1.5, step_ms=5.0),
    Case("storage, one worker", "lightning", wait_ms=3.0, step_ms=8.0, settings={"num_workers": 1}),
    Case("decoding", "lightning", cpu_ms=1.0, step_ms=6.0),
    Case("enough already", "lightning", wait_ms=0.5, step_ms=10.0, settings={"num_workers": 2}),
    Case("serial map, storage", "keras", wait_ms=1.0, step_ms=4.0, items=800),
    Case("serial map, decoding", "keras", cpu_ms=1.0, step_ms=6.0, items=800),
    Case("two calls", "keras", wait_ms=3.0, step_ms=4.0, items=800, settings={"num_parallel_calls": 2}),
    Case("no prefetch", "keras", wait_ms=0.5, step_ms=6.0, items=800, settings={"num_parallel_calls": 4}),
    Case("pageable copies", "device", step_ms=8.0, floats=500_000, settings={"num_workers": 2}),
    Case("copies longer than the step", "device", step_ms=4.0, floats=500_000, settings={"num_workers": 1}),
    Case("small copies", "device", wait_ms=0.2, step_ms=8.0, floats=50_000, settings={"num_workers": 1}),
    Case("storage, pageable", "device", wait_ms=2.0, step_ms=8.0, floats=125_000, settings={"num_workers": 1}),
    Case("storage, no workers", "device", wait_ms=1.0, step_ms=8.0, floats=125_000),
    Case("storage, pinned", "device", wait_ms=2.0, step_ms=8.0, floats=50_000, settings={"pin_memory": True}),
    Case("one worker, pinned", "device", wait_ms=2.0, step_ms=8.0, floats=125_000,
         settings={"pin_memory": True, "num_workers": 1}),
    Case("decoding, pageable", "device", cpu_ms=0.5, step_ms=6.0, floats=125_000, settings={"num_workers": 1}),
)  # fmt: skip
