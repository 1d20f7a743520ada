"""Who reads a device value at every step: the place comes from the clocks, the name from the Trainer."""

from typing import Any

from feedwatch.hooks.lightning.categories import COMPUTE, OTHER


def name_of_sync(trainer: Any, place: int | None) -> str | None:
    if place == COMPUTE:
        if "16-mixed" in str(getattr(trainer, "precision", "")) and "bf16" not in str(trainer.precision):
            return (
                "the gradient scaler of 16-mixed precision, or a read of a device value in the step (.item(), .cpu())"
            )
        return "a read of a device value in the training step (.item(), .cpu(), print)"
    if place != OTHER:
        return None
    if int(trainer.world_size) > 1:
        # Since Lightning 2.5.2: a broadcast and .item() before every fetch (Lightning #21487).
        return "Lightning's own SIGTERM check before every fetch, or a callback that reads a device value"
    if _shows_metrics(trainer):
        return "metrics on the progress bar (prog_bar=True), or a callback that reads a device value"
    return "a callback or logger that reads a device value"


def _shows_metrics(trainer: Any) -> bool:
    try:
        return trainer.progress_bar_callback is not None and bool(trainer.progress_bar_metrics)
    except Exception:
        return False  # between two fits there is nothing to show
