"""What one batch looks like, from shapes and dtypes alone: no value is read."""

from collections.abc import Iterator
from typing import Any

from feedwatch.model.facts import BatchFacts


def batch_facts(batch: Any, batch_size: int | None = None) -> BatchFacts | None:
    """`batch`: arrays, tensors or tensor specs, nested. None where a shape is unknown."""
    dtypes: dict[str, int] = {}
    tensors = 0
    for part in _leaves(batch, 0):
        size = _bytes(part, batch_size)
        if size is None:
            return None
        name = str(getattr(part.dtype, "name", part.dtype)).removeprefix("torch.")
        dtypes[name] = dtypes.get(name, 0) + size
        tensors += 1
    return BatchFacts(sum(dtypes.values()), tensors, dtypes) if tensors else None


def _leaves(value: Any, depth: int) -> Iterator[Any]:
    if depth > 8 or value is None:
        return
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from _leaves(part, depth + 1)
    elif hasattr(value, "shape") and hasattr(value, "dtype"):
        yield value


def _bytes(part: Any, batch_size: int | None) -> int | None:
    each = getattr(part.dtype, "itemsize", None) or getattr(part.dtype, "size", None)
    if not isinstance(each, int):
        return None
    total = each
    try:
        for index, dimension in enumerate(part.shape):
            known = batch_size if dimension is None and index == 0 else dimension
            if known is None:
                return None
            total *= int(known)
    except (TypeError, ValueError):  # a shape of unknown rank
        return None
    return total
