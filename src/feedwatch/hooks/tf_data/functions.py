"""What the user's map function does, read from its graph: Python code, random numbers, files, nested datasets."""

import re
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from feedwatch.hooks.python_code import changes_between_epochs

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
    found = _ops(wrapper)
    if found is None:
        return FunctionFacts(name, source, framework=framework)
    ops, tokens = found
    return FunctionFacts(
        name,
        source,
        python=bool(ops & _PYTHON),
        random=any(_RANDOM.search(op) for op in ops) or _python_changes(tokens),
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


def user_function(wrapper: Any, op: str) -> Any | None:
    """The function that the user gave to map, filter, from_generator, … None: there is none, or it cannot be seen."""
    function = getattr(wrapper, "_func", None)
    if op == "FromGenerator":
        return _generator(wrapper)
    inner = getattr(function, "python_function", None) or getattr(function, "__wrapped__", None) or function
    return inner if hasattr(inner, "__code__") else None


def generator_changes(wrapper: Any) -> bool | None:
    """Whether the user's generator gives something else in the next epoch."""
    generator = _generator(wrapper)
    return None if generator is None else changes_between_epochs(generator)


def _generator(wrapper: Any) -> Any | None:
    """What the user gave to from_generator sits behind TensorFlow's own functions."""
    try:
        return _captured(_captured(wrapper._func, "get_iterator_id_fn"), "generator_state")._generator
    except Exception:
        return None


def _captured(function: Any, name: str) -> Any:
    return function.__closure__[function.__code__.co_freevars.index(name)].cell_contents


def _python_changes(tokens: set[bytes]) -> bool | None:
    """Whether the Python functions behind these tokens give something else in the next epoch. False without any."""
    if not tokens:
        return False
    try:
        from tensorflow.python.ops import script_ops

        registered = [script_ops._py_funcs._funcs.get(token.decode()) for token in tokens]
        return changes_between_epochs(*(getattr(each, "_func", each) for each in registered))
    except Exception:
        return None


def _ops(wrapper: Any) -> tuple[set[str], set[bytes]] | None:
    """Types of the ops, and the tokens of the Python functions that they call. Read from the graph object: a GraphDef
    would copy every constant that the user captured.
    """
    try:
        graph = wrapper.function.graph
    except Exception:
        return None
    found: set[str] = set()
    tokens: set[bytes] = set()
    _collect(graph, found, tokens, 0)
    return found, tokens


def _collect(graph: Any, found: set[str], tokens: set[bytes], depth: int) -> None:
    if depth > _MAX_DEPTH:
        return
    for op in graph.get_operations():
        found.add(op.type)
        if op.type in _PYTHON:
            tokens.add(op.get_attr("token"))
    for function in getattr(graph, "_functions", {}).values():
        inner = getattr(function, "graph", None)
        if inner is not None:
            _collect(inner, found, tokens, depth + 1)
            continue
        for node in getattr(getattr(function, "cached_definition", None), "node_def", ()):
            found.add(node.op)
            if node.op in _PYTHON:
                tokens.add(node.attr["token"].s)
