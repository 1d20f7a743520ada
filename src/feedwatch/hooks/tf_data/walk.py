"""The user's own tf.data pipeline as written: a walk over the dataset objects, and what these objects tell.

The attributes read here are private to TensorFlow. Each is read on its own; one that is missing gives None.
"""

from typing import Any, Final, NamedTuple

import tensorflow as tf

from feedwatch.hooks.tf_data.functions import FunctionFacts, function_facts
from feedwatch.hooks.tf_data.names import IN_MEMORY, PASSING, READERS, plain_name
from feedwatch.model.pipeline import TfStage

# A pipeline with more stages was built by a loop in the user's code; these are enough to describe it.
MAX_STAGES: Final = 64


class Walk(NamedTuple):
    stages: tuple[TfStage, ...]
    datasets: tuple[Any, ...]  # the dataset object of each stage
    functions: tuple[FunctionFacts | None, ...]  # the user's function of each stage


def walk(dataset: Any) -> Walk | None:
    """The stages in the order data flows. None: the inputs of a dataset cannot be seen. Where a dataset has several
    inputs (zip, concatenate) the first one is followed.
    """
    rows: list[tuple[TfStage, Any, FunctionFacts | None]] = []
    current = dataset
    while current is not None and len(rows) < MAX_STAGES:
        if not hasattr(current, "_inputs"):
            return None
        inputs = list(current._inputs())
        stage, facts = _stage(current)
        rows.append((stage, current, facts))
        if stage.op in READERS or stage.op == "FromGenerator":
            break  # its input is only a list of file names, or from_generator's internal token
        current = inputs[0] if inputs else None
    rows.reverse()
    return Walk(tuple(row[0] for row in rows), tuple(row[1] for row in rows), tuple(row[2] for row in rows))


def _stage(dataset: Any) -> tuple[TfStage, FunctionFacts | None]:
    op = plain_name(type(dataset).__name__)
    wrapper = getattr(dataset, "_map_func", None) or getattr(dataset, "_predicate", None)
    facts = None if wrapper is None else function_facts(wrapper)
    if op == "FlatMap" and facts is not None and facts.framework and facts.python:
        return TfStage("FromGenerator", python=True), None
    parallelism = _number(dataset, "_num_parallel_calls") or _number(dataset, "_num_parallel_reads")
    stage = TfStage(
        op=op,
        function=None if facts is None or facts.framework else facts.name,
        source=None if facts is None or facts.framework else facts.source,
        parallelism=parallelism,
        buffer_size=_number(dataset, "_buffer_size") if op in ("Prefetch", "Shuffle") else None,
        batch_size=_number(dataset, "_batch_size"),
        python=None if facts is None else facts.python,
        random=None if facts is None else facts.random,
        opens_files=None if facts is None else facts.reads_file,
    )
    return stage, facts


def batch_size(dataset: Any) -> int | None:
    """Samples in a full batch: from the static shape, else from the last batch stage. Runs on the training thread."""
    found = _static_size(dataset)
    current, seen = dataset, 0
    while found is None and current is not None and seen < MAX_STAGES:
        op = plain_name(type(current).__name__)
        if op.endswith("Batch"):
            return _number(current, "_batch_size")
        # Behind anything that changes what an element is, the batch size says nothing about a step.
        if not (op in PASSING or op in ("Prefetch", "Map", "ParallelMap", "Cache", "Shuffle")):
            return None
        inputs = list(current._inputs()) if hasattr(current, "_inputs") else []
        current, seen = (inputs[0] if inputs else None), seen + 1
    return found


def file_count(found: Walk) -> int | None:
    """Length of the list of file names that a reader starts from. The names themselves are not read."""
    for stage, dataset in zip(found.stages, found.datasets, strict=True):
        tensors = getattr(dataset, "_tensors", None)
        if stage.op in READERS:
            inputs = list(dataset._inputs())
            tensors = getattr(inputs[0], "_tensors", None) if inputs else None
        if tensors and len(tensors) == 1 and tensors[0].dtype == tf.string:
            shape = tensors[0].shape
            return int(shape[0]) if shape.rank else 1
    return None


def from_memory(found: Walk) -> bool | None:
    """The source holds the values themselves in memory, and not only the names of files."""
    source = found.stages[0]
    if source.op not in IN_MEMORY:
        return False
    tensors = getattr(found.datasets[0], "_tensors", None)
    if not tensors:
        return None
    only_names = all(tensor.dtype == tf.string for tensor in tensors)
    reads = any(facts is not None and (facts.reads_file or facts.nested) for facts in found.functions)
    return not (only_names and reads)


def epoch_bytes(found: Walk) -> int | None:
    """What a cache would have to hold: all elements of an epoch after the last deterministic map. None where a shape
    or the number of elements is unknown.
    """
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
    """Work that is the same in every epoch. It ends at a random map, and at Python code, which cannot be judged."""
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


def _static_size(dataset: Any) -> int | None:
    try:
        spec = tf.nest.flatten(dataset.element_spec)[0]
        size = spec.shape[0]
        return None if size is None else int(size)
    except Exception:
        return None


def _number(dataset: Any, name: str) -> int | None:
    value = _constant(getattr(dataset, name, None))
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _constant(value: Any) -> Any:
    try:
        plain = isinstance(value, (int, float, str, bytes, type(None)))
        static: Any = value if plain else tf.get_static_value(value)
        return static.item() if getattr(static, "size", 0) == 1 else static
    except Exception:
        return None
