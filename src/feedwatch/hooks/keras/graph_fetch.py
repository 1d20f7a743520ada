"""One fetch with its stamps, as a graph runs it (or Python, where Keras fetches eagerly)."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, NamedTuple

import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops.control_flow_v2_func_graphs import WhileBodyFuncGraph

from feedwatch.guard import Guard
from feedwatch.hooks.keras.attribution import Fetch
from feedwatch.hooks.keras.batch_shape import leading_size
from feedwatch.hooks.keras.graph_stamps import AS_THE_LAST_GOT, NOT_COUNTED, NOTHING_GOT, emit_row

# The last ones of this process: the Python code here runs in a graph context only while Keras traces.
MAX_TRACES: Final = 1024


class Plan(NamedTuple):
    """What the graph must find out by itself. Part of the TypeSpec: another plan is another trace."""

    ask_for_end: bool  # the length of the data is not known: each fetch says whether it brought anything
    count_samples: bool  # the size of a batch is not known


class _Traces:
    at_ns: ClassVar[deque[int]] = deque(maxlen=MAX_TRACES)
    guard = Guard("the timed fetch")


def traces_ns() -> Sequence[int]:
    """When a fetch was traced, in order."""
    return _Traces.at_ns


def timed_fetch(twin: Any, fetch: Callable[[], Any]) -> Any:
    """`fetch` gives a batch, or raises at the end of the data."""
    if tf.executing_eagerly():
        return _timed_eagerly(twin, fetch)
    return _timed_in_graph(twin, fetch, follows=False, optional=False)


def timed_optional_fetch(twin: Any, fetch: Callable[[], Any]) -> Any:
    """`fetch` gives an optional, empty at the end of the data. Keras asks so in its loop of several steps per
    execution, for a batch as soon as it has the one before: that one's second stamp is this one's first.
    """
    if tf.executing_eagerly():
        return _timed_eagerly(twin, fetch)
    return _timed_in_graph(twin, fetch, follows=_in_loop(), optional=True)


def _in_loop() -> bool:
    graph = ops.get_default_graph()
    while graph is not None and not isinstance(graph, WhileBodyFuncGraph):
        graph = getattr(graph, "outer_graph", None)
    return graph is not None


def _timed_in_graph(twin: Any, fetch: Callable[[], Any], *, follows: bool, optional: bool) -> Any:
    _Traces.at_ns.append(time.perf_counter_ns())
    if follows:
        asked, out = tf.constant(AS_THE_LAST_GOT, tf.float64), fetch()
    else:
        with tf.device("/CPU:0"):
            asked = tf.timestamp()
        with tf.control_dependencies([asked]):
            out = fetch()
    try:
        got, out = _gated(out)
        with tf.device("/CPU:0"):
            got, samples = _found(twin._feedwatch_plan, got, out, optional)
            emit_row(twin._feedwatch_queue, asked, got, samples)
    except Exception as error:
        _Traces.guard.failed(error)
        # A structure we cannot take apart is trained on untimed.
    return out


def _gated(out: Any) -> tuple[Any, Any]:
    """The second stamp, and the batch behind it.

    Compute must not start before the stamp is taken: with one inter-op thread the whole step would run first and be
    called input. An identity forwards its buffer, nothing is copied.
    """
    flat = tf.nest.flatten(out, expand_composites=True)
    with tf.device("/CPU:0"), tf.control_dependencies([tensor.op for tensor in flat]):
        got = tf.timestamp()
    gated = []
    with tf.control_dependencies([got]):
        for tensor in flat:
            with ops.colocate_with(tensor.op):
                gated.append(tf.identity(tensor))
    return got, tf.nest.pack_sequence_as(out, gated, expand_composites=True)


def _found(plan: Plan, got: Any, out: Any, optional: bool) -> tuple[Any, Any]:
    """What the row says: when it was there, and how many samples."""
    uncounted = tf.constant(NOT_COUNTED, tf.float64)
    if not optional:
        return got, _samples(out) if plan.count_samples else uncounted
    samples = uncounted
    if plan.count_samples:
        samples = tf.cond(out.has_value(), lambda: _samples(out.get_value()), lambda: uncounted)
    # Where the end of the data is known, nobody needs to ask: in a loop of ten steps that costs 9 µs per batch.
    if plan.ask_for_end:
        got = tf.raw_ops.SelectV2(condition=out.has_value(), t=got, e=tf.constant(NOTHING_GOT, tf.float64))
    return got, samples


def _samples(batch: Any) -> Any:
    """The first dimension of its first part, from the shape: no value is read. A batch may be anything: one that cannot
    be counted is timed all the same.
    """
    first = next((part for part in tf.nest.flatten(batch) if part is not None), None)
    if isinstance(first, tf.RaggedTensor):
        size = first.nrows()
    elif isinstance(first, tf.SparseTensor):
        size = first.dense_shape[0]
    elif isinstance(first, tf.Tensor) and first.shape.rank != 0:
        size = tf.shape(first)[0]
    else:
        return tf.constant(NOT_COUNTED, tf.float64)
    return tf.cast(size, tf.float64)


def _timed_eagerly(twin: Any, fetch: Callable[[], Any]) -> Any:
    asked_ns = time.perf_counter_ns()
    out = fetch()
    got_ns = time.perf_counter_ns()
    if twin._feedwatch_eager is not None:
        twin._feedwatch_eager(Fetch(asked_ns, got_ns, leading_size(out)))
    return out
