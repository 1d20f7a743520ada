"""What a Trainer says about itself, as plain values."""

from typing import Any

from feedwatch.hooks.lightning.bases import flavour_of
from feedwatch.hooks.torch.device import DeviceDescription, describe_device
from feedwatch.model.facts import RunFacts


def read_run_facts(trainer: Any) -> RunFacts:
    device: DeviceDescription = describe_device(trainer.strategy.root_device)
    return RunFacts(
        framework="lightning",
        version=str(getattr(flavour_of(trainer), "__version__", "unknown")),
        backend="torch",
        device=device.shown,
        device_kind=device.kind,
        device_name=device.name,
        rank=int(trainer.global_rank),
        world_size=int(trainer.world_size),
        local_ranks=local_ranks(trainer),
        precision=_text(getattr(trainer, "precision", None)),
        tensor_cores=device.tensor_cores,
        other_profiler=other_profiler(trainer),
    )


def local_ranks(trainer: Any) -> int:
    """Ranks that share this machine's CPUs."""
    return max(1, int(trainer.world_size) // max(1, int(getattr(trainer, "num_nodes", 1))))


def other_profiler(trainer: Any) -> str | None:
    """Only one that drives torch.profiler is in our way."""
    name = type(trainer.profiler).__name__
    return name if name in ("PyTorchProfiler", "XLAProfiler") else None


def _text(value: object) -> str | None:
    return None if value is None else str(value)
