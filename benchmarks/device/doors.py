"""The training of the benchmark of copies through each of the doors: a plain loop, Lightning, Keras on torch."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from torch.utils.data import DataLoader, Dataset

STEPS: Final = 40


@dataclass(frozen=True)
class Training:
    mb: float
    kernel_ms: float
    workers: int
    load_ms: float
    pageable_gb_per_s: float
    pinned_gb_per_s: float
    pin: bool = False
    non_blocking: bool = True
    ahead: bool = False

    def __str__(self) -> str:
        speeds = f"{self.pageable_gb_per_s:g}/{self.pinned_gb_per_s:g} GB/s"
        return f"{self.mb:g} MB, {speeds}, kernel {self.kernel_ms:g} ms, {self.workers} workers of {self.load_ms:g} ms"


# Trains; watched where a folder is given, and then gives the report.
Door = Callable[[Training, Path | None], Any]


class Items(Dataset[torch.Tensor]):
    def __init__(self, training: Training) -> None:
        self.load_ms, self.floats = training.load_ms, int(training.mb * 1e6 / 4)

    def __len__(self) -> int:
        return STEPS

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self.load_ms / 1e3)
        return torch.full((self.floats,), float(index))


def _loader(training: Training) -> Any:
    data = DataLoader(Items(training), batch_size=1, num_workers=training.workers, pin_memory=training.pin)
    return _copy_ahead("TORCH")(data, "emulated:0") if training.ahead else data


def _copy_ahead(name: str) -> Any:
    """The class that FW203 gives, as it is pasted."""
    from feedwatch.advise.rules.copies import fw203_exposed_copies

    space: dict[str, Any] = {"torch": torch}
    exec(getattr(fw203_exposed_copies, name).replace("cuda", "emulated"), space)
    return space["CopyAhead"]


def plain_loop(training: Training, folder: Path | None) -> Any:
    from feedwatch.torch import FeedWatch

    torch.manual_seed(3)
    model = torch.nn.Linear(4, 1).to("emulated")
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    data = _loader(training)
    watch = None if folder is None else FeedWatch(folder, console=False, device="emulated")
    for batch in data if watch is None else watch(data):
        if watch is None:
            here = batch.to("emulated", non_blocking=training.non_blocking)
        else:
            with watch.copying():
                here = batch.to("emulated", non_blocking=training.non_blocking)
        torch.emulated.kernel(training.kernel_ms, "step")
        optimizer.zero_grad()
        model(here[:, :4]).sum().backward()
        optimizer.step()
    torch.accelerator.synchronize()
    return None if watch is None else watch.close()


def lightning(training: Training, folder: Path | None) -> Any:
    import lightning.pytorch as pl

    from feedwatch.lightning import FeedWatch
    from tests.emulated.training import trainer

    class Model(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch: Any, _: int) -> Any:
            torch.emulated.kernel(training.kernel_ms, "step")
            return self.layer(batch[:, :4]).sum()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 1e-3)

    class Blocking(Model):
        def transfer_batch_to_device(self, batch: Any, device: torch.device, dataloader_idx: int) -> Any:
            return batch.to(device)

    torch.manual_seed(3)
    watch = None if folder is None else FeedWatch(folder, console=False)
    model = Model() if training.non_blocking else Blocking()
    trainer(0, max_epochs=1, callbacks=[] if watch is None else [watch]).fit(model, _loader(training))
    torch.accelerator.synchronize()
    return None if watch is None else watch.report


def keras_torch(training: Training, folder: Path | None) -> Any:
    """In a process in which Keras was told its backend and its device before it was imported."""
    import keras

    from feedwatch.keras import FeedWatch

    class Work(keras.layers.Layer):  # type: ignore[misc]
        def call(self, inputs: Any) -> Any:
            torch.emulated.kernel(training.kernel_ms, "step")
            return inputs[:, :4]

    def with_target(items: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.stack(items), torch.zeros(len(items), 1)

    keras.utils.set_random_seed(3)
    items = Items(training)
    loader: Any = _copy_ahead("KERAS") if training.ahead else DataLoader
    data = loader(items, batch_size=1, num_workers=training.workers, pin_memory=training.pin, collate_fn=with_target)
    model = keras.Sequential([keras.Input((items.floats,)), Work(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    watch = None if folder is None else FeedWatch(folder, console=False)
    model.fit(data, verbose=0, callbacks=[] if watch is None else [watch])
    torch.accelerator.synchronize()
    return None if watch is None else watch.report
