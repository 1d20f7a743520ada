"""A DataLoader's settings as plain values. Reads attributes only: nothing is iterated, nothing is called twice."""

import multiprocessing
from typing import Any

from torch.utils.data import IterableDataset

from feedwatch.model.pipeline import LoaderFacts


def read_settings(loader: Any) -> LoaderFacts:
    dataset = getattr(loader, "dataset", None)
    workers = int(getattr(loader, "num_workers", 0) or 0)
    return LoaderFacts(
        num_workers=workers,
        prefetch_factor=getattr(loader, "prefetch_factor", None),
        persistent_workers=bool(getattr(loader, "persistent_workers", False)),
        pin_memory=bool(getattr(loader, "pin_memory", False)),
        batch_size=_batch_size(loader),
        class_name=type(loader).__name__,
        start_method=start_method(loader) if workers else None,
        in_order=bool(getattr(loader, "in_order", True)),
        iterable=isinstance(dataset, IterableDataset),
        batched_getitems=hasattr(dataset, "__getitems__"),
        dataset_len=_length(dataset),
        dataset_name=None if dataset is None else type(dataset).__name__,
        custom_collate=custom_collate(getattr(loader, "collate_fn", None)),
    )


def start_method(loader: Any) -> str | None:
    context = getattr(loader, "multiprocessing_context", None)
    if context is None:
        # allow_none: asking must not fix the method for the whole process; the first of all is the platform's own
        return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
    return str(context.get_start_method())


def custom_collate(collate: Any) -> str | None:
    """The name of the user's own collate function, None for torch's."""
    if collate is None or getattr(collate, "__module__", "").startswith("torch.utils.data"):
        return None
    return str(getattr(collate, "__name__", type(collate).__name__))


def _batch_size(loader: Any) -> int | None:
    size = getattr(loader, "batch_size", None)
    if size is None:
        size = getattr(getattr(loader, "batch_sampler", None), "batch_size", None)
    return int(size) if isinstance(size, int) else None


def _length(dataset: Any) -> int | None:
    if isinstance(dataset, IterableDataset):
        return None  # its __len__ is the user's claim, and may be expensive
    try:
        return len(dataset)
    except Exception:
        return None
