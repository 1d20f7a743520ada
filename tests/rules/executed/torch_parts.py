"""Small Lightning runs. Loading and computing sleep where they stand for storage and a device: no CPU is fought over."""

import logging
import tempfile
import time
import warnings

import lightning.pytorch as pl
import torch
from torch.utils.data import Dataset

from feedwatch.lightning import FeedWatch
from tests.rules.executed.outcome import Outcome

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")
torch.set_num_threads(1)

WIDTH = 16


class Items(Dataset):
    """Every item waits as if a disk had to answer."""

    def __init__(self, length, item_ms):
        self.length, self.item_s = length, item_ms / 1000

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if self.item_s:
            time.sleep(self.item_s)
        return torch.full((WIDTH,), float(index % 7)), torch.tensor(0.0)


class Model(pl.LightningModule):
    def __init__(self, compute_ms):
        super().__init__()
        self.layer = torch.nn.Linear(WIDTH, 1)
        self.compute_s = compute_ms / 1000

    def training_step(self, batch, _index):
        if self.compute_s:
            time.sleep(self.compute_s)
        inputs, targets = batch
        return torch.nn.functional.mse_loss(self.layer(inputs)[:, 0], targets)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)


class Stopwatch(pl.Callback):
    def __init__(self):
        self.began = self.ended = None

    def on_train_start(self, *_args):
        self.began = time.perf_counter()

    def on_train_end(self, *_args):
        self.ended = time.perf_counter()


def train(loader, *, compute_ms, epochs=1, callbacks=()):
    with tempfile.TemporaryDirectory() as directory:
        watch, stopwatch = FeedWatch(directory, console=False), Stopwatch()
        trainer = pl.Trainer(
            max_epochs=epochs, callbacks=[watch, stopwatch, *callbacks], logger=False, enable_progress_bar=False,
            enable_checkpointing=False, enable_model_summary=False, accelerator="cpu",
        )  # fmt: skip
        trainer.fit(Model(compute_ms), loader)
    return Outcome(watch.report, stopwatch.ended - stopwatch.began)
