"""The second source for a pipeline's stages: its own graph, by a public op. For when the objects cannot be walked.

It serialises every tensor the pipeline holds: 400 MB of arrays cost two seconds and twice the memory. So it is used
only where tf.data's model shows that nothing starts from memory.
"""

from typing import Any, Final

import tensorflow as tf
from tensorflow.core.framework import graph_pb2

from feedwatch.hooks.keras.pipeline_walk import MAX_STAGES, Walk
from feedwatch.hooks.keras.stage_model import Model
from feedwatch.hooks.keras.stage_names import IN_MEMORY, plain_name
from feedwatch.model.pipeline import TfStage

_PYTHON: Final = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})
_IGNORE_STATE: Final = 1  # external_state_policy: a shuffle's seeds are not asked for
_FIGURES: Final = {"num_parallel_calls": "parallelism", "buffer_size": "buffer_size", "batch_size": "batch_size"}


def safe_to_walk(model: Model | None) -> bool:
    return model is not None and not any(stage.op in IN_MEMORY for stage in model.stages)


def graph_walk(dataset: Any) -> Walk | None:
    """Stages as in `pipeline_walk.walk`, without the names of the user's functions: a graph does not know them."""
    packed = tf.raw_ops.DatasetToGraphV2(
        input_dataset=dataset._variant_tensor, external_state_policy=_IGNORE_STATE, strip_device_assignment=True
    )
    graph = graph_pb2.GraphDef.FromString(packed.numpy())
    nodes = {node.name: node for node in graph.node}
    functions = {function.signature.name: function for function in graph.library.function}
    ends = [node for node in graph.node if node.op == "_Retval"]
    current = nodes.get(_name(ends[0].input[0])) if ends else None
    stages: list[TfStage] = []
    while current is not None and len(stages) < MAX_STAGES:
        stages.append(_stage(current, nodes, functions))
        inputs = [nodes[_name(each)] for each in current.input if _name(each) in nodes]
        current = next((node for node in inputs if "Dataset" in node.op), None)
    stages.reverse()
    return Walk(tuple(stages), (), (), 1) if stages else None


def _stage(node: Any, nodes: dict[str, Any], functions: dict[str, Any]) -> TfStage:
    figures: dict[str, int] = {}
    for name, given in zip(_input_names(node), (each for each in node.input if not each.startswith("^")), strict=False):
        value = _scalar(nodes.get(_name(given)))
        if name in _FIGURES and value is not None:
            figures[_FIGURES[name]] = value
    ops: set[str] = set()
    for attribute in node.attr.values():
        if attribute.HasField("func"):
            _collect(attribute.func.name, functions, ops, 0)
    has_function = any(attribute.HasField("func") for attribute in node.attr.values())
    return TfStage(
        plain_name(node.op),
        **figures,  # type: ignore[arg-type]
        python=bool(ops & _PYTHON) if has_function else None,
        opens_files="ReadFile" in ops if has_function else None,
    )


def _input_names(node: Any) -> list[str]:
    """One name per input; an argument that is a list takes as many places as the list is long."""
    from tensorflow.python.framework import op_def_registry

    definition = op_def_registry.get(node.op)
    names: list[str] = []
    for argument in () if definition is None else definition.input_arg:
        places = 1
        if argument.type_list_attr:
            places = len(node.attr[argument.type_list_attr].list.type)
        elif argument.number_attr:
            places = int(node.attr[argument.number_attr].i)
        names += [argument.name] * places
    return names


def _scalar(node: Any) -> int | None:
    if node is None or node.op != "Const" or node.attr["value"].tensor.tensor_shape.dim:
        return None
    value = tf.make_ndarray(node.attr["value"].tensor).item()
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _collect(name: str, functions: dict[str, Any], ops: set[str], depth: int) -> None:
    function = functions.get(name)
    if function is None or depth > 6:
        return
    for node in function.node_def:
        ops.add(node.op)
        for attribute in node.attr.values():
            if attribute.HasField("func"):
                _collect(attribute.func.name, functions, ops, depth + 1)


def _name(reference: str) -> str:
    return reference.split(":", maxsplit=1)[0].lstrip("^")
