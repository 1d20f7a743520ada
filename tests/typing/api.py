"""Type-checked, never run: the API as a user writes it."""

from pathlib import Path

from feedwatch.errors import FeedwatchError
from feedwatch.keras import FeedWatch as KerasFeedWatch
from feedwatch.lightning import FeedWatch as LightningFeedWatch
from feedwatch.model.report import Report
from feedwatch.report.load import load_run


def keras_user() -> Report | None:
    watch = KerasFeedWatch("runs/a", profile="auto", console=False)
    seen: Report | None = watch.report
    return seen


def lightning_user() -> Path | None:
    watch = LightningFeedWatch(Path("runs/b"), profile=True)
    where: Path | None = watch.log_dir
    return where


def reader() -> float | None:
    try:
        report = load_run(Path("runs/a"))
    except FeedwatchError:
        return None
    return report.verdict.stall_ratio
