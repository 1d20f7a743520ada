"""One batch: what it looks like when it leaves the loader, how many samples it holds, and who copies it."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Final

import torch

from feedwatch.model.facts import BatchFacts

MAX_TENSORS: Final = 256
# Real batches are nested two or three deep; one that contains itself must not hang the step.
MAX_DEPTH: Final = 8
# Enough values to be sure, few enough to copy in a microsecond.
SAMPLE_VALUES: Final = 4096
_FLOATS: Final = (torch.float16, torch.float32, torch.float64)


@dataclass(frozen=True, slots=True)
class BatchPeek:
    """`sample` is a copy of a few values, judged later on another thread."""

    facts: BatchFacts
    sample: torch.Tensor | None

    def judged(self) -> BatchFacts:
        return replace(self.facts, integral_floats=None if self.sample is None else _whole_bytes(self.sample))


def peek(batch: Any, device_kind: str) -> BatchPeek | None:
    """Called once per run, on the training thread; takes microseconds."""
    tensors = list(_tensors(batch, 0))[:MAX_TENSORS]
    if not tensors:
        return None
    dtypes: dict[str, int] = {}
    for tensor in tensors:
        name = str(tensor.dtype).removeprefix("torch.")
        dtypes[name] = dtypes.get(name, 0) + tensor.nbytes
    largest = max(tensors, key=lambda tensor: tensor.nbytes)
    facts = BatchFacts(
        size_bytes=sum(tensor.nbytes for tensor in tensors),
        tensors=len(tensors),
        dtypes=dtypes,
        pinned=bool(largest.is_pinned()) if can_pin(device_kind) and largest.device.type == "cpu" else None,
        device=str(largest.device),
    )
    return BatchPeek(facts, _sample(largest))


def can_pin(device_kind: str) -> bool:
    """Whether torch can tell pinned memory from other memory: until 2.5 it asked CUDA, whatever the device was."""
    if device_kind in ("cpu", "mps", "tpu"):
        return False
    return device_kind in ("cuda", "rocm") or hasattr(torch, "accelerator")


def _tensors(value: Any, depth: int) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif depth < MAX_DEPTH and isinstance(value, Mapping):
        for each in value.values():
            yield from _tensors(each, depth + 1)
    elif depth < MAX_DEPTH and isinstance(value, (list, tuple)):
        for each in value[:MAX_TENSORS]:
            yield from _tensors(each, depth + 1)
    elif depth < MAX_DEPTH and hasattr(value, "__dict__") and not isinstance(value, (type, ModuleType)):
        for each in tuple(vars(value).values())[:MAX_TENSORS]:  # a batch class of the user's own
            yield from _tensors(each, depth + 1)


def _sample(tensor: torch.Tensor) -> torch.Tensor | None:
    """Only from host memory: reading a device tensor would synchronise."""
    if tensor.device.type != "cpu" or tensor.dtype not in _FLOATS or not tensor.is_contiguous() or not tensor.numel():
        return None
    return tensor.detach().view(-1)[:SAMPLE_VALUES].clone()


def _whole_bytes(sample: torch.Tensor) -> bool:
    """Whole numbers in 0..255, or such numbers divided by 255: a uint8 in disguise."""
    values = sample.double()
    if float(values.min()) < 0:
        return False
    scaled = values * 255 if float(values.max()) <= 1 else values
    varied = bool((scaled != scaled[0]).any())
    return varied and float(scaled.max()) <= 255.001 and bool((scaled - scaled.round()).abs().max() < 1e-3)


# -- how many samples -------------------------------------------------------------------------------


def samples_in(batch: Any, configured: int | None) -> int | None:
    """The first dimension of the first tensor; `configured` is the loader's batch size."""
    if type(batch) is list and batch:  # what torch's own collate makes
        batch = batch[0]
    for _ in range(MAX_DEPTH):
        if isinstance(batch, torch.Tensor):
            shape = batch.shape
            first = int(shape[0]) if shape else 1
            # A first dimension larger than the batch size is something else, time for instance.
            return first if configured is None or first <= configured else configured
        if isinstance(batch, (list, tuple)) and batch:
            batch = batch[0]
        elif isinstance(batch, Mapping) and batch:
            batch = next(iter(batch.values()))
        else:
            break
    return configured


# -- who copies it ----------------------------------------------------------------------------------

HOOK: Final = "transfer_batch_to_device"
_LIGHTNING: Final = ("lightning.", "pytorch_lightning.")


def custom_transfer(owners: list[Any]) -> tuple[str | None, bool | None]:
    """(name of an overridden transfer hook, whether it copies without blocking; None where that cannot be read)."""
    owner = overridden(HOOK, owners)
    if owner is None:
        return None, True
    try:
        source = inspect.getsource(getattr(type(owner), HOOK))
    except (OSError, TypeError):
        return f"{type(owner).__name__}.{HOOK}", None
    # `super().transfer_batch_to_device` is Lightning's own, which never blocks.
    plain = "non_blocking=True" in source or f"super().{HOOK}" in source
    return f"{type(owner).__name__}.{HOOK}", plain


def overridden(hook: str, owners: list[Any]) -> Any | None:
    """The first whose hook is the user's own, not Lightning's."""
    for owner in owners:
        method = getattr(type(owner), hook, None)
        if method is not None and not str(getattr(method, "__module__", "")).startswith(_LIGHTNING):
            return owner
    return None
