"""What the Lightning cases are made of: photos that take real work, storage and a device that take time, a net."""

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import lightning.pytorch as pl
import torch

from feedwatch.demo.photos import Photo, decode, make_photos, normalise

CLASSES = 10
FEATURES = 256
WIDTH = 384


@dataclass
class Plan:
    loader: Any
    device_ms: float = 16.0  # of every step, on a device that is not there; 0: all of the step is computed here
    rounds: int = 1  # of the net's hidden layer, on the CPU: 0.4 ms each with 16 samples
    epochs: int = 2
    callbacks: Sequence[Any] = field(default=())


class Photos(torch.utils.data.Dataset):
    """Items as most people write them: wait for the storage, decode, normalise."""

    def __init__(self, count: int, *, storage_ms: float = 0.0, rounds: int = 1, side: int = 96) -> None:
        self._photos: list[Photo] = make_photos(16, side)
        self._count, self._side, self._rounds = count, side, rounds
        self._storage_s = storage_ms / 1000

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> tuple[Any, int]:
        photo = self._photos[index % len(self._photos)]
        if self._storage_s:
            time.sleep(self._storage_s)
        return prepared(photo, self._side, self._rounds), photo.label


def prepared(photo: Photo, side: int = 96, rounds: int = 1) -> Any:
    """1 ms of CPU per round on a 96 × 96 photo; only the features that the net reads are handed over."""
    pixels = decode(photo.packed, side)
    for _ in range(rounds):
        pixels = normalise(pixels)
    return torch.from_numpy(pixels.ravel()[:FEATURES].copy())


class Net(pl.LightningModule):
    """One hidden layer, used over and over: as much computing as asked for, in little memory."""

    def __init__(self, rounds: int, device_ms: float) -> None:
        super().__init__()
        self._rounds, self._device_s = rounds, device_ms / 1000
        self._first, self._last = torch.nn.Linear(FEATURES, WIDTH), torch.nn.Linear(WIDTH, CLASSES)
        self.hidden = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, features: Any) -> Any:
        state = self._first(features)
        for _ in range(self._rounds):
            state = torch.tanh(self.hidden(state))
        return self._last(state)

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        features, labels = batch
        # As an accelerator takes its time: the step waits for it, and no CPU computes meanwhile.
        time.sleep(self._device_s)
        return torch.nn.functional.cross_entropy(self(features), labels)

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.001)


class Stopwatch(pl.Callback):
    """The script's own clock, to check feedwatch's figures against."""

    def __init__(self) -> None:
        super().__init__()
        self.began_s = 0.0
        self.ends: list[list[float]] = []  # of the batches, by epoch

    def on_train_start(self, *_: Any) -> None:
        self.began_s = time.perf_counter()

    def on_train_epoch_start(self, *_: Any) -> None:
        self.ends.append([])

    def on_train_batch_end(self, *_: Any) -> None:
        self.ends[-1].append(time.perf_counter())


def train(plan: Plan, log_dir: str) -> tuple[Any, Stopwatch]:
    """The report, and the script's own clock."""
    from feedwatch.lightning import FeedWatch

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    watch, stopwatch = FeedWatch(log_dir, console=False), Stopwatch()
    trainer = pl.Trainer(
        max_epochs=plan.epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=log_dir,
        callbacks=[watch, stopwatch, *plan.callbacks],
    )
    trainer.fit(Net(plan.rounds, plan.device_ms), plan.loader)
    return watch.report, stopwatch


def share_of_worker(items: Sequence[int]) -> Iterator[int]:
    """Every worker its own part, dealt like cards."""
    info = torch.utils.data.get_worker_info()
    return iter(items if info is None else items[info.id :: info.num_workers])
