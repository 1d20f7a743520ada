"""Does the data set already sit in memory? Looks at attributes only; no item is read."""

import sys
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch.utils.data import ConcatDataset, Subset, TensorDataset

MAX_ATTRIBUTES: Final = 200
# An array with one row per item, but far smaller than the items, is an index or the labels, not the data.
LEAST_HELD_SHARE: Final = 0.2


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    held_bytes: int | None = None  # tensors and arrays with one row per item
    static_items: bool | None = None
    on_device: bool | None = None


def read_dataset(dataset: Any) -> DatasetFacts:
    if isinstance(dataset, Subset):
        return read_dataset(dataset.dataset)
    if isinstance(dataset, ConcatDataset):
        parts = [read_dataset(part) for part in dataset.datasets]
        held = [part.held_bytes for part in parts]
        known = [each for each in held if each is not None]
        static = all(part.static_items is True for part in parts) or None
        return DatasetFacts(sum(known) if len(known) == len(held) else None, static)
    if isinstance(dataset, TensorDataset):
        tensors = dataset.tensors
        away = any(tensor.device.type != "cpu" for tensor in tensors)
        return DatasetFacts(sum(tensor.nbytes for tensor in tensors), static_items=True, on_device=away)
    return DatasetFacts(_held_bytes(dataset))


def in_memory(facts: DatasetFacts, items: int | None, item_bytes: float | None) -> bool | None:
    """True when what the data set holds is about as large as what it gives out."""
    if facts.held_bytes is None or not items or item_bytes is None:
        return None
    return facts.held_bytes / items >= LEAST_HELD_SHARE * item_bytes


def _held_bytes(dataset: Any) -> int | None:
    try:
        items = len(dataset)
        attributes = list(vars(dataset).values())[:MAX_ATTRIBUTES]
    except Exception:
        return None
    return sum(_row_bytes(value, items) for value in attributes)


def _row_bytes(value: Any, items: int) -> int:
    numpy = sys.modules.get("numpy")
    if isinstance(value, torch.Tensor):
        return value.nbytes if value.dim() and value.shape[0] == items else 0
    if numpy is not None and isinstance(value, numpy.ndarray) and not isinstance(value, numpy.memmap):
        return int(value.nbytes) if value.ndim and value.shape[0] == items else 0
    return 0
