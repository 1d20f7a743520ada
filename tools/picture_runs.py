"""Small real trainings for the pictures: `python tools/picture_runs.py KIND DIRECTORY`. See tools/take_pictures.py.

`ranks` starts a second process, as Lightning does it; the others are loops of their own.
"""

import contextlib
import logging
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import torch
from torch.utils.data import DataLoader, Dataset

from feedwatch.torch import FeedWatch

torch.set_num_threads(1)
BATCH: Final = 16


class Photos(Dataset):  # type: ignore[misc]
    """Items that wait for a slow drive and compute a little."""

    def __init__(self, count: int, drive_s: float) -> None:
        self._count, self._drive_s = count, drive_s

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> tuple[Any, int]:
        time.sleep(self._drive_s)
        return torch.randn(3, 32, 32), index % 10


def net(width: int) -> Any:
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, width, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(width * 1024, 10)
    )


def train(directory: Path, loader: Any, width: int = 16, epochs: int = 2, fail_at: int | None = None) -> None:
    model, seen = net(width), 0
    with FeedWatch(directory, console=False) as watch:
        for _ in range(epochs):
            for photos, labels in watch(loader):
                torch.nn.functional.cross_entropy(model(photos), labels).backward()
                model.zero_grad()
                seen += 1
                if seen == fail_at:
                    raise ValueError("a photo that cannot be read")


def healthy(directory: Path) -> None:
    ready = [(torch.randn(BATCH, 3, 32, 32), torch.randint(0, 10, (BATCH,))) for _ in range(150)]
    train(directory, DataLoader(ready, batch_size=None), width=64)


def failed(directory: Path) -> None:
    with contextlib.suppress(ValueError):
        train(directory, DataLoader(Photos(3200, 0.001), batch_size=BATCH), fail_at=90)


def many(directory: Path) -> None:
    """A search over batch sizes and drives: fifteen short runs."""
    for batch in (8, 16, 32):
        for drive_ms in (0, 0.2, 0.5, 1, 2):
            loader = DataLoader(Photos(60 * batch, drive_ms / 1000), batch_size=batch)
            train(directory / f"batch{batch}-drive{drive_ms}ms", loader, epochs=1)


def ranks(directory: Path) -> None:
    import lightning.pytorch as pl

    from feedwatch.lightning import FeedWatch as Watch

    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Model(pl.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.net = net(16)

        def train_dataloader(self) -> Any:
            return DataLoader(Photos(2400, 0.0002 + 0.002 * self.global_rank), batch_size=BATCH)

        def training_step(self, batch: Any, index: int) -> Any:  # noqa: ARG002 -- Lightning's signature
            return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.001)

    pl.Trainer(
        max_epochs=2,
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[Watch(directory, console=False)],
    ).fit(Model())


KINDS: Final[dict[str, Callable[[Path], None]]] = {"healthy": healthy, "failed": failed, "many": many, "ranks": ranks}

if __name__ == "__main__":
    torch.manual_seed(1)
    KINDS[sys.argv[1]](Path(sys.argv[2]))
