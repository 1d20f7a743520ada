"""The user's own tf.data pipeline as written: a walk over the dataset objects, and what these objects tell.

The attributes read here are private to TensorFlow. Each is read on its own; one that is missing gives None.
"""

from dataclasses import replace
from typing import Any, Final, NamedTuple

import tensorflow as tf

from feedwatch.hooks.call_site import function_call_site, only_call_site, user_files
from feedwatch.hooks.tf_data.functions import FunctionFacts, function_facts, generator_changes, user_function
from feedwatch.hooks.tf_data.names import CALLS, IN_MEMORY, NESTING, PASSING, READERS, TAKE_FUNCTIONS, plain_name
from feedwatch.model.pipeline import TfStage

# A loop in the user's code may build hundreds. A longer pipeline is not read at all: what is said of the source, of a
# cache or of randomness would be wrong of a pipeline whose beginning was not seen.
MAX_STAGES: Final = 512
# An element that leaves these is as large as one that goes in, as far as a batch size is concerned.
_SAME_ELEMENTS: Final = ("Prefetch", "Map", "ParallelMap", "Cache", "Shuffle", "CopyToDevice")


class Walk(NamedTuple):
    stages: tuple[TfStage, ...]
    datasets: tuple[Any, ...]  # the dataset object of each stage
    functions: tuple[FunctionFacts | None, ...]  # the user's function of each stage


def walk(dataset: Any) -> Walk | None:
    """The stages in the order data flows. None: the inputs of a dataset cannot be seen, or there are too many. Where a
    dataset has several inputs (zip, concatenate) the first one is followed.
    """
    rows: list[tuple[TfStage, Any, FunctionFacts | None]] = []
    current = dataset
    while current is not None:
        if not hasattr(current, "_inputs") or len(rows) == MAX_STAGES:
            return None
        inputs = list(current._inputs())
        stage, facts = _stage(current)
        rows.append((stage, current, facts))
        if stage.op in READERS or stage.op == "FromGenerator":
            break  # its input is only a list of file names, or from_generator's internal token
        current = inputs[0] if inputs else None
    rows.reverse()
    stages = _with_call_sites(_with_sizes(rows), [row[1] for row in rows])
    return Walk(tuple(stages), tuple(row[1] for row in rows), tuple(row[2] for row in rows))


def _stage(dataset: Any) -> tuple[TfStage, FunctionFacts | None]:
    op = plain_name(type(dataset).__name__)
    wrapper = _wrapper(dataset)
    facts = None if wrapper is None else function_facts(wrapper)
    if op == "FlatMap" and facts is not None and facts.framework and facts.python:
        return TfStage("FromGenerator", python=True, random=generator_changes(wrapper)), None
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


def _wrapper(dataset: Any) -> Any:
    return getattr(dataset, "_map_func", None) or getattr(dataset, "_predicate", None)


def _with_sizes(rows: list[tuple[TfStage, Any, FunctionFacts | None]]) -> list[TfStage]:
    """From the batch stage on an element is a batch, until a stage takes it apart."""
    size, batched, stages = None, False, []
    for stage, dataset, facts in rows:
        if stage.op.endswith("Batch"):
            size, batched = stage.batch_size, True
        elif stage.op == "Unbatch" or stage.op in NESTING:
            size, batched = None, facts is not None and any("Batch" in op for op in facts.nested)
        try:
            each = _element_bytes(dataset.element_spec, size)
        except Exception:
            each = None
        stages.append(replace(stage, element_bytes=each, batched=batched))
    return stages


def _with_call_sites(stages: list[TfStage], datasets: list[Any]) -> list[TfStage]:
    functions = [user_function(_wrapper(dataset), stage.op) for stage, dataset in zip(stages, datasets, strict=True)]
    files = user_files(*(each for each in functions if each is not None))
    return [
        replace(stage, call_site=_call_site(stage, function, files))
        for stage, function in zip(stages, functions, strict=True)
    ]


def _call_site(stage: TfStage, function: Any, files: list[str]) -> str | None:
    called = CALLS.get(stage.op)
    if called is None:
        return None
    if stage.op in TAKE_FUNCTIONS:
        return None if function is None else function_call_site(function, called)
    return only_call_site(called, files, stage.batch_size if stage.batch_size is not None else stage.buffer_size)


def batch_size(dataset: Any) -> int | None:
    """Samples in a full batch: from the static shape, else from the last batch stage. Runs on the training thread."""
    found = _static_size(dataset)
    current, seen = dataset, 0
    while found is None and current is not None and seen < MAX_STAGES:
        op = plain_name(type(current).__name__)
        if op.endswith("Batch"):
            return _number(current, "_batch_size")
        # Behind anything that changes what an element is, the batch size says nothing about a step.
        if not (op in PASSING or op in _SAME_ELEMENTS):
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
    place = after_deterministic_work(found)
    if place is None:
        return None
    dataset = found.datasets[place]
    try:
        count = int(dataset.cardinality())
        each = _element_bytes(dataset.element_spec, found.stages[place].batch_size)
    except Exception:
        return None
    return count * each if each is not None and count >= 0 else None


def service(found: Walk) -> str | None:
    """The pipeline begins where tf.data service hands elements over: how that service shards, as the user wrote it."""
    source = found.datasets[0]
    if found.stages[0].op != "DataService":
        return None
    mode = _constant(getattr(source, "_processing_mode", None))
    try:
        from tensorflow.core.protobuf import data_service_pb2

        policy = data_service_pb2.ProcessingModeDef.FromString(mode).sharding_policy
        return str(data_service_pb2.ProcessingModeDef.ShardingPolicy.Name(policy)).lower()
    except Exception:
        return "mode not known"


def endless(found: Walk) -> bool | None:
    """The data itself has no end, and not only because it is repeated."""
    ops = [stage.op for stage in found.stages]
    # Dataset.counter() is made of a repeat and a scan: this repeat is not the user's.
    repeats = [at for at, op in enumerate(ops) if op == "Repeat" and ops[at + 1 : at + 2] != ["Scan"]]
    place = (repeats[0] if repeats else len(ops)) - 1
    try:
        count = int(found.datasets[place].cardinality())
    except Exception:
        return None
    return None if count == tf.data.UNKNOWN_CARDINALITY else count == tf.data.INFINITE_CARDINALITY


def after_deterministic_work(found: Walk) -> int | None:
    """Work that is the same in every epoch. It ends at a random map, and at Python code that cannot be judged."""
    place = None
    for index, stage in enumerate(found.stages):
        if stage.op in ("Cache", "Repeat") or stage.random or (stage.python and stage.random is None):
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
