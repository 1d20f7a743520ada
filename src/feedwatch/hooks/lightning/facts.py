"""What a Trainer says about itself, as plain values."""

import math
import sys
from typing import Any, Final

from feedwatch.hooks.torch.device import describe_device
from feedwatch.measure.marks import COMPUTE, OTHER
from feedwatch.model.facts import RunFacts

FLAVOURS: Final = ("lightning.pytorch", "pytorch_lightning")  # both import names


def read_run_facts(trainer: Any) -> RunFacts:
    device = describe_device(trainer.strategy.root_device)
    return RunFacts(
        framework="lightning",
        version=_version(trainer),
        backend="torch",
        device=device.shown,
        device_kind=device.kind,
        device_name=device.name,
        device_id=device.id,
        rank=int(trainer.global_rank),
        world_size=int(trainer.world_size),
        # They share this machine's CPUs.
        local_ranks=max(1, int(trainer.world_size) // max(1, int(trainer.num_nodes))),
        precision=str(trainer.precision),
        tensor_cores=device.tensor_cores,
        capability=device.capability,
        tf32=device.tf32,
        other_profiler=other_profiler(trainer),
    )


def other_profiler(trainer: Any) -> str | None:
    """Only a profiler that drives torch.profiler is in the way of ours."""
    name = type(trainer.profiler).__name__
    return name if name in ("PyTorchProfiler", "XLAProfiler") else None


def validations_per_epoch(trainer: Any) -> float | None:
    """Known once the loaders are: None before, and where an epoch has no length."""
    every, batches = getattr(trainer, "val_check_batch", None), getattr(trainer, "num_training_batches", None)
    if not every or not batches or math.isinf(every) or math.isinf(batches):
        return None
    return float(batches) / float(every)


def name_of_sync(trainer: Any, place: int | None) -> str | None:
    """Who reads a device value at every step. The two clocks tell the place, the Trainer tells who it may be."""
    if place == COMPUTE:
        if str(trainer.precision) == "16-mixed":
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
    """From what was said of the metrics when they were logged. `trainer.progress_bar_metrics` would read their values
    from the device, and this is not the training thread.
    """
    try:
        metrics = tuple((trainer._results or {}).values())
        return trainer.progress_bar_callback is not None and any(metric.meta.prog_bar for metric in metrics)
    except Exception:
        return False  # between two fits there is nothing to show


def _version(trainer: Any) -> str:
    """Of the package that the user's Trainer comes from; the other import name may have another version."""
    for kind in type(trainer).__mro__:
        for name in FLAVOURS:
            if kind.__module__.startswith(name + "."):
                return str(getattr(sys.modules[name], "__version__", "unknown"))
    return "unknown"
