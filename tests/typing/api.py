"""Type-checked, never run: the API as a user writes it. `tests/unit/test_typing.py` checks it as a user's mypy does."""

from pathlib import Path

import keras
import lightning.pytorch
import pytorch_lightning

from feedwatch.errors import FeedwatchError
from feedwatch.keras import FeedWatch as KerasFeedWatch
from feedwatch.lightning import FeedWatch as LightningFeedWatch
from feedwatch.model.report import Report
from feedwatch.report.load import load_run
from feedwatch.torch import FeedWatch as TorchFeedWatch


def keras_user(model: keras.Model) -> Report | None:
    watch = KerasFeedWatch("runs/a", profile="auto", console=False)
    # `fit` itself has no types, so this line is what proves that Keras takes ours.
    callbacks: list[keras.callbacks.Callback] = [watch]
    model.fit([], callbacks=callbacks)
    seen: Report | None = watch.report
    return seen


def lightning_user() -> Path | None:
    watch = LightningFeedWatch(Path("runs/b"), profile=True)
    lightning.pytorch.Trainer(max_epochs=1, callbacks=[watch])
    lightning.pytorch.Trainer(callbacks=watch)
    where: Path | None = watch.log_dir
    return where


def user_of_the_other_import_name() -> Report | None:
    watch = LightningFeedWatch(console=False)
    pytorch_lightning.Trainer(callbacks=[watch])
    return watch.report


def user_of_a_loop_of_their_own(loader: list[tuple[int, str]]) -> Report | None:
    with TorchFeedWatch("runs/c", console=False, device="cpu") as watch:
        for number, text in watch(loader):
            print(number + 1, text.upper())
    return watch.report


def reader() -> float | None:
    try:
        report = load_run(Path("runs/a"))
    except FeedwatchError:
        return None
    return report.verdict.stall_ratio
