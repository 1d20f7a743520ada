"""Lightning: a DataLoader without workers decodes and whitens photos between the steps."""

import logging
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch

from feedwatch.demo.photos import CLASSES, SIDE, Photo, decode, make_photos, normalise
from feedwatch.demo.story import Tick
from feedwatch.model.report import Report
from feedwatch.model.verdict import Finding

PHOTOS, BATCH, EPOCHS = 640, 16, 4
# The time that a network drive takes to answer for one file. The rest of an item is real decoding and numpy.
STORAGE_SECONDS = 0.001


class PhotoFolder(torch.utils.data.Dataset):  # type: ignore[misc]
    def __init__(self, photos: list[Photo]) -> None:
        self._photos = photos

    def __len__(self) -> int:
        return PHOTOS

    def __getitem__(self, index: int) -> tuple[Any, int]:
        photo = self._photos[index % len(self._photos)]
        time.sleep(STORAGE_SECONDS)
        pixels = normalise(decode(photo.packed))
        return torch.from_numpy(pixels.transpose(2, 0, 1).copy()), photo.label


class SmallNet(pl.LightningModule):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self._layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 5, stride=4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(CLASSES)
        )
        self._layers(torch.zeros(1, 3, SIDE, SIDE))

    def training_step(self, batch: Any, batch_idx: int) -> Any:  # noqa: ARG002 -- Lightning's signature
        photos, labels = batch
        return torch.nn.functional.cross_entropy(self._layers(photos), labels)

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.01)


class LightningChapter:
    title = "Lightning"

    def __init__(self, epochs: int = EPOCHS) -> None:
        self._epochs = epochs
        self.steps = PHOTOS // BATCH * epochs
        self._photos = make_photos(64)

    def train(
        self, log_dir: Path, applied: Finding | None, tick: Tick, *, trial: bool | float = False
    ) -> Report | None:
        from feedwatch.lightning import FeedWatch

        watch = FeedWatch(log_dir, console=False, trial=trial)
        with suppress(SystemExit):  # a trial ends its script
            fit(self.loader(applied), self._epochs, [watch, _Ticker(tick)], log_dir)
        report: Report | None = watch.report
        return report

    def loader(self, applied: Finding | None) -> Any:
        background: dict[str, Any] = {}
        if applied is not None and applied.code == "FW101":
            background = {"num_workers": int(applied.evidence["workers_advised"]), "persistent_workers": True}
        return torch.utils.data.DataLoader(PhotoFolder(self._photos), batch_size=BATCH, shuffle=True, **background)


def fit(loader: Any, epochs: int, callbacks: list[Any], root: Path) -> Any:
    """Lightning's own hints about workers are hidden: the demo gives that advice itself, later."""
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    pl.seed_everything(1, verbose=False)
    torch.set_num_threads(1)  # the model is tiny: a second thread would only take the loader's CPU
    model = SmallNet()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = pl.Trainer(
            max_epochs=epochs,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=root,
            callbacks=callbacks,
        )
        trainer.fit(model, loader)
    return model


class _Ticker(pl.Callback):  # type: ignore[misc]
    def __init__(self, tick: Tick) -> None:
        super().__init__()
        self._tick = tick

    def on_train_batch_end(self, *_: Any) -> None:
        self._tick()
