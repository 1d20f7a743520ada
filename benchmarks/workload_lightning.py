"""A Lightning training that follows a scene and times itself. Needs torch and Lightning only."""

import logging
import tempfile
import time
import warnings
from typing import Any

warnings.filterwarnings("ignore")

import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter

from benchmarks.scenes import BATCH, WARM, Scene, mean, sleep, spin

COPY_MS = 3.0


class SlowItems(Dataset):
    def __init__(self, batches: int, ms_per_batch: float) -> None:
        self.batches, self.ms_per_item = batches, ms_per_batch / BATCH

    def __len__(self) -> int:
        return self.batches * BATCH

    def __getitem__(self, index: int) -> Any:
        sleep(self.ms_per_item)
        return torch.ones(6)


class _TimedNext:
    def __next__(self) -> Any:
        began = time.perf_counter()
        batch = super().__next__()  # type: ignore[misc]
        self.waits_ms.append((time.perf_counter() - began) * 1000)
        return batch


class _Here(_TimedNext, _SingleProcessDataLoaderIter):
    pass


class _Workers(_TimedNext, _MultiProcessingDataLoaderIter):
    pass


class TimedLoader(DataLoader):
    """Its own clock around `next`: what the loop waits, for a worker or for items and collate."""

    waits_ms: list[float]

    def _get_iterator(self) -> Any:
        iterator = (_Workers if self.num_workers else _Here)(self)
        iterator.waits_ms = self.waits_ms = []
        return iterator


class Model(pl.LightningModule):
    def __init__(self, scene: Scene) -> None:
        super().__init__()
        self.scene = scene
        self.layer = torch.nn.Linear(6, 1)
        self.compute_ms: list[float] = []
        self.copy_ms: list[float] = []

    def optimizer_step(self, *arguments: Any, **named: Any) -> None:
        # Lightning runs the whole step (forward, backward, update) in here.
        began = time.perf_counter()
        super().optimizer_step(*arguments, **named)
        self.compute_ms.append((time.perf_counter() - began) * 1000)

    def forward(self, batch: Any) -> Any:
        spin(self.scene.compute_ms)
        return self.layer(batch)

    def training_step(self, batch: Any, index: int) -> Any:
        return self(batch).mean()

    def validation_step(self, batch: Any, index: int) -> None:
        sleep(3.0)

    def transfer_batch_to_device(self, batch: Any, device: Any, dataloader_idx: int) -> Any:
        if self.scene.extra == "slow copy" and self.trainer.training:
            self.copy_ms.append(sleep(COPY_MS))
            return batch
        return super().transfer_batch_to_device(batch, device, dataloader_idx)

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.001)


class SlowCallback(pl.Callback):
    def on_train_batch_start(self, *_: Any) -> None:
        sleep(4.0)

    def on_train_batch_end(self, *_: Any) -> None:
        sleep(5.0)


def train(scene: Scene, seconds: float, callbacks: list[Any], warm: int = WARM) -> dict[str, float | None]:
    """The truth: mean milliseconds per step of each phase, without the first `warm` steps."""
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    model = Model(scene)
    loader = TimedLoader(SlowItems(scene.steps(seconds), scene.input_ms), batch_size=BATCH, num_workers=scene.workers)
    validation = DataLoader([torch.ones(6)] * 12, batch_size=BATCH) if scene.extra == "validation" else None
    callbacks = [*callbacks, *([SlowCallback()] if scene.extra == "slow callback" else [])]
    with tempfile.TemporaryDirectory() as directory:
        if scene.extra == "checkpoints":
            callbacks.append(pl.callbacks.ModelCheckpoint(directory, every_n_train_steps=4, save_top_k=-1))
        trainer = pl.Trainer(
            max_epochs=1,
            accelerator="cpu",
            callbacks=callbacks,
            logger=False,
            enable_checkpointing=scene.extra == "checkpoints",
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            val_check_interval=10 if validation is not None else None,
            default_root_dir=directory,
        )
        trainer.fit(model, loader, validation)
    return {
        "input": mean(loader.waits_ms, warm),
        "compute": mean(model.compute_ms, warm),
        "copy": mean(model.copy_ms, warm),
    }
