"""What the user's map function does, read from its graph: Python code, random numbers, files, nested datasets."""

import re
from pathlib import PurePath
from typing import Any, Final, NamedTuple

_PYTHON: Final = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})
_RANDOM: Final = re.compile(
    r"^(Stateless)?(Random|Multinomial|TruncatedNormal|ParameterizedTruncated|Sample)|^Stateful|Rng"
)
_MAX_DEPTH: Final = 6


class FunctionFacts(NamedTuple):
    name: str | None = None
    source: str | None = None  # train.py:31
    python: bool | None = None
    random: bool | None = None
    reads_file: bool | None = None
    nested: tuple[str, ...] = ()  # ops inside that make datasets (interleave, flat_map)
    framework: bool = False  # TensorFlow's or Keras' own function, not the user's


def function_facts(wrapper: Any) -> FunctionFacts:
    """`wrapper` is tf.data's StructuredFunctionWrapper. What cannot be seen stays None."""
    function = getattr(wrapper, "_func", None)
    name, source, framework = _place(function)
    ops = _ops(wrapper)
    if ops is None:
        return FunctionFacts(name, source, framework=framework)
    return FunctionFacts(
        name,
        source,
        python=bool(ops & _PYTHON),
        random=any(_RANDOM.search(op) for op in ops),
        reads_file="ReadFile" in ops,
        nested=tuple(sorted(op for op in ops if "Dataset" in op)),
        framework=framework,
    )


def _place(function: Any) -> tuple[str | None, str | None, bool]:
    inner = getattr(function, "python_function", None) or getattr(function, "__wrapped__", None) or function
    name = getattr(inner, "__qualname__", None) or getattr(type(inner), "__name__", None)
    code = getattr(inner, "__code__", None)
    if code is None:
        return name, None, False
    path = PurePath(code.co_filename)
    framework = any(part in ("tensorflow", "keras") for part in path.parts) and "site-packages" in path.parts
    short = None if name is None else name.rsplit("<locals>.", 1)[-1]
    return short, f"{path.name}:{code.co_firstlineno}", framework


def _ops(wrapper: Any) -> set[str] | None:
    """Types of the ops, read from the graph object: a GraphDef would copy every constant that the user captured."""
    try:
        graph = wrapper.function.graph
    except Exception:
        return None
    found: set[str] = set()
    _collect(graph, found, 0)
    return found


def _collect(graph: Any, found: set[str], depth: int) -> None:
    if depth > _MAX_DEPTH:
        return
    found.update(op.type for op in graph.get_operations())
    for function in getattr(graph, "_functions", {}).values():
        inner = getattr(function, "graph", None)
        if inner is not None:
            _collect(inner, found, depth + 1)
            continue
        definition = getattr(function, "cached_definition", None)
        if definition is not None:
            found.update(node.op for node in definition.node_def)
