"""How many samples a batch holds, from its shape alone: no value is read."""

from typing import Any


def leading_size(batch: Any) -> int | None:
    """The first dimension of the first array in a nested batch, or None."""
    try:
        size = _first(batch, depth=0).shape[0]
        return None if size is None else int(size)
    except Exception:  # a batch may be anything; not knowing its size is no failure
        return None


def _first(value: Any, depth: int) -> Any:
    if depth > 8:
        return None
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        for part in value:
            found = _first(part, depth + 1)
            if found is not None:
                return found
        return None
    return value
