"""How large one epoch is after the work that is the same every epoch: what a cache would have to hold."""

from typing import Any

import tensorflow as tf

from feedwatch.hooks.keras.pipeline_walk import Walk


def epoch_bytes(found: Walk) -> int | None:
    """Bytes of all elements after the last deterministic map, or None where a shape or the count is unknown."""
    place = _after_deterministic_work(found)
    if place is None:
        return None
    dataset = found.datasets[place]
    try:
        count = int(dataset.cardinality())
        each = _element_bytes(dataset.element_spec, found.stages[place].batch_size)
    except Exception:
        return None
    return count * each if each is not None and count >= 0 else None


def _after_deterministic_work(found: Walk) -> int | None:
    """A random map ends what may be cached; Python code cannot be judged."""
    place = None
    for index, stage in enumerate(found.stages):
        if stage.op in ("Cache", "Repeat") or stage.random or stage.python:
            break
        if stage.op in ("Map", "ParallelMap", "Interleave", "ParallelInterleave", "FlatMap"):
            place = index
    return place


def _element_bytes(spec: Any, batch_size: int | None) -> int | None:
    total = 0
    for part in tf.nest.flatten(spec):
        shape = getattr(part, "shape", None)
        if shape is None or shape.rank is None or part.dtype in (tf.string, tf.resource, tf.variant):
            return None
        size = part.dtype.size
        for index, dimension in enumerate(shape):
            known = batch_size if dimension is None and index == 0 else dimension
            if known is None:
                return None
            size *= int(known)
        total += size
    return total
