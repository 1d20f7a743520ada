"""Edits of a tf.data pipeline in its serialised form: the graph goes out, is changed, and comes back as a data set.

The functions of the pipeline are not traced again, and Python in it is found by its number: the user's own data set has
to stay alive. Every edit says by `Refused` why it cannot be made.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.python.data.ops import dataset_ops

from feedwatch.trial.variant import Refused
from feedwatch.words import size

# Tensors in memory are written into the graph. Beyond this the copy takes seconds, and memory twice.
MOST_IN_MEMORY: Final = 200_000_000
AUTOTUNE: Final = -1
CYCLE: Final = 4
IGNORE_STATE: Final = 1  # of external_state_policy: py_function keeps its Python function outside of the graph
_INT64: Final = 9
_STRING: Final = 7

Edit = Callable[["Graph"], None]


def edited(dataset: Any, edits: Sequence[Edit]) -> Any:
    """The same data set with its graph changed."""
    if not edits:
        return dataset
    graph = Graph.of(dataset)
    for edit in edits:
        edit(graph)
    twin = dataset_ops._VariantDataset(graph.variant(), dataset.element_spec)
    twin._feedwatch_original = dataset
    return twin


def held_bytes(dataset: Any) -> int:
    """Of tensors in memory, in all sources."""
    own = sum(_bytes(each) for each in getattr(dataset, "_tensors", None) or [])
    return own + sum(held_bytes(each) for each in dataset._inputs())


def _bytes(tensor: Any) -> int:
    shape = getattr(tensor, "shape", None)
    if shape is None or not shape.is_fully_defined():
        return 0
    return int(shape.num_elements()) * (tensor.dtype.size or 16)


class Graph:
    """Nodes by name; the main chain is what leads from the result to the source."""

    def __init__(self, definition: Any) -> None:
        self._definition = definition

    @classmethod
    def of(cls, dataset: Any) -> "Graph":
        held = held_bytes(dataset)
        if held > MOST_IN_MEMORY:
            raise Refused(f"the pipeline holds {size(held)} in memory, which would have to be copied to edit it")
        try:
            packed = tf.raw_ops.DatasetToGraphV2(
                input_dataset=dataset._variant_tensor,
                external_state_policy=IGNORE_STATE,
                strip_device_assignment=False,
            ).numpy()
        except tf.errors.OpError as error:
            raise Refused(f"tf.data cannot write this pipeline down: {str(error.message)[:200]}") from None
        definition = graph_pb2.GraphDef()
        definition.ParseFromString(packed)
        return cls(definition)

    def variant(self) -> Any:
        try:
            return tf.raw_ops.DatasetFromGraph(graph_def=self._definition.SerializeToString())
        except tf.errors.OpError as error:
            raise Refused(f"tf.data does not take the edited pipeline: {str(error.message)[:200]}") from None

    def chain(self) -> Iterator[Any]:
        """From the last stage to the source. Where a stage has several inputs the first is followed."""
        nodes = {node.name: node for node in self._definition.node}
        current = next((node for node in self._definition.node if node.op == "_Retval"), None)
        while current is not None and current.input:
            current = nodes.get(_name(current.input[0]))
            if current is None or "Dataset" not in current.op:
                return
            yield current

    def number(self, value: int) -> str:
        """Name of a constant."""
        return self._constant(value, _INT64)

    def text(self, value: bytes) -> str:
        return self._constant(value, _STRING)

    def add(self, op: str, inputs: Sequence[str], like: Any) -> Any:
        """A stage whose elements are those of `like`."""
        node = self._definition.node.add()
        node.name, node.op = self._free_name(op), op
        node.input.extend(inputs)
        for name in ("output_types", "output_shapes"):
            node.attr[name].CopyFrom(like.attr[name])
        return node

    def behind(self, stage: Any, stages: Sequence[Any]) -> None:
        """Whoever read from `stage` reads from the last of `stages`; the first of them reads from `stage`."""
        ours = {id(each) for each in stages}
        for node in self._definition.node:
            if id(node) not in ours and node.name not in {each.name for each in stages}:
                for at, name in enumerate(node.input):
                    if _name(name) == stage.name:
                        node.input[at] = stages[-1].name

    def _constant(self, value: Any, kind: int) -> str:
        node = self._definition.node.add()
        node.name, node.op = self._free_name("constant"), "Const"
        node.attr["dtype"].type = kind
        tensor = node.attr["value"].tensor
        tensor.dtype = kind
        tensor.tensor_shape.SetInParent()
        (tensor.int64_val if kind == _INT64 else tensor.string_val).append(value)
        return str(node.name)

    def _free_name(self, stem: str) -> str:
        return f"feedwatch_{stem}_{len(self._definition.node)}"

    def constant_of(self, name: str) -> int | None:
        """The value of a number that is written in the graph."""
        node = next((each for each in self._definition.node if each.name == _name(name)), None)
        if node is None or node.op != "Const":
            return None
        value = tf.make_ndarray(node.attr["value"].tensor)
        return int(value) if value.size == 1 and value.dtype.kind in "iu" else None


def _name(reference: str) -> str:
    return reference.lstrip("^").partition(":")[0]


def _stages(graph: Graph, ops: Sequence[str], missing: str) -> list[Any]:
    found = [node for node in graph.chain() if node.op in ops]
    if not found:
        raise Refused(missing)
    return found


# -- the edits -----------------------------------------------------------------------------------


def parallel_maps(graph: Graph) -> None:
    """Every serial map becomes parallel."""
    for node in _stages(graph, ["MapDataset"], "there is no serial map in it"):
        node.op = "ParallelMapDatasetV2"
        node.input.append(graph.number(AUTOTUNE))
        node.attr.pop("force_synchronous", None)
        node.attr["deterministic"].s = b"default"


def autotuned(graph: Graph) -> None:
    """A number of parallel calls that is written by hand becomes AUTOTUNE."""
    changed = 0
    for node in graph.chain():
        at = {"ParallelMapDatasetV2": -1, "ParallelInterleaveDatasetV4": -1, "ParallelBatchDataset": 2}.get(node.op)
        if at is not None and (graph.constant_of(node.input[at]) or AUTOTUNE) > 0:
            node.input[at] = graph.number(AUTOTUNE)
            changed += 1
    if not changed:
        raise Refused("there is no number of parallel calls in it that is written by hand")


def interleaved(graph: Graph) -> None:
    """Several files are read at a time."""
    for node in _stages(graph, ["FlatMapDataset", "InterleaveDataset"], "its files are not read one after the other"):
        function = node.attr["f"].func.name
        if node.op == "FlatMapDataset":
            node.input.extend([graph.number(CYCLE), graph.number(1)])
        node.input.extend([graph.number(AUTOTUNE), graph.number(AUTOTUNE), graph.number(AUTOTUNE)])
        node.op = "ParallelInterleaveDatasetV4"
        node.attr["f"].func.name = function
        node.attr["deterministic"].s = b"default"


def cached_behind(stage_from_end: int, elements: int) -> Edit:
    """The first `elements` that leave a stage are kept, and come again and again: as fast as a cache that is full. A
    shuffle before the stage would be kept with them, so it stands behind the cache, too.
    """

    def edit(graph: Graph) -> None:
        chain = list(graph.chain())
        if stage_from_end >= len(chain):
            raise Refused("the stage is not in the graph")
        stage = chain[stage_from_end]
        take = graph.add("TakeDataset", [stage.name, graph.number(elements)], stage)
        cache = graph.add("CacheDataset", [take.name, graph.text(b"")], stage)
        again = graph.add("RepeatDataset", [cache.name, graph.number(-1)], stage)
        added = [take, cache, again]
        size = _shuffled(graph, chain[stage_from_end + 1 :])
        if size is not None:
            inputs = [again.name, graph.number(min(size, elements)), graph.number(0), graph.number(0)]
            added.append(graph.add("ShuffleDataset", inputs, stage))
        graph.behind(stage, added)

    return edit


def _shuffled(graph: Graph, stages: Sequence[Any]) -> int | None:
    """Elements that a shuffle among these holds."""
    sizes = [graph.constant_of(node.input[1]) for node in stages if node.op.startswith("ShuffleDataset")]
    return next((size for size in sizes if size is not None and size > 0), None)
