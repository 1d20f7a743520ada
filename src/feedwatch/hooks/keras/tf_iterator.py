"""In-graph timing of IteratorGetNext, by an iterator that is a composite tensor of its own.

Keras on TensorFlow fetches inside a tf.function, where Python does not run. The twins of Keras' iterators have a
TypeSpec of their own, so inside the function TensorFlow rebuilds them as what they are, and `get_next` emits: stamp,
fetch, stamp, write to a queue. The queue's handle is a component (an argument, not a capture): one trace serves any
number of fits.
"""

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Final, NamedTuple

import tensorflow as tf
from tensorflow.python.data.ops import iterator_ops
from tensorflow.python.distribute import input_lib
from tensorflow.python.framework import ops, type_spec
from tensorflow.python.ops.control_flow_v2_func_graphs import WhileBodyFuncGraph

from feedwatch.guard import Guard
from feedwatch.hooks.keras.facts import leading_size
from feedwatch.hooks.keras.tf_stamps import AS_THE_LAST_GOT, NOT_COUNTED, NOTHING_GOT, GraphStamps, emit_row
from feedwatch.hooks.tf_data.walk import batch_size
from feedwatch.measure.marks import ENTER, GOT, INPUT, LEAVE, TRACED, Mark

Append = Callable[[Mark], None]


class Plan(NamedTuple):
    """What the graph must find out by itself. Part of the TypeSpec: another plan is another trace."""

    ask_for_end: bool  # the length of the data is not known: each fetch says whether it brought anything
    count_samples: bool  # the size of a batch is not known


# A batch for several devices is in parts, and its optional has no `has_value` to ask.
_OF_SEVERAL: Final = Plan(ask_for_end=False, count_samples=False)


class GraphFetches(GraphStamps):
    """The fetches of one fit: stamped in the graph, or marked by Python where Keras runs eagerly."""

    def __init__(self, append: Append) -> None:
        super().__init__()
        self._append = append
        self._stop_traces = mark_traces(append)

    def wrap(self, iterator: Any) -> Any | None:
        return timed(iterator, self, self._append)

    def close(self) -> None:
        self._stop_traces()
        self.destroy()


def timed(iterator: Any, stamps: GraphStamps, append: Append) -> Any | None:
    """The timed twin of a TensorFlow iterator, or None for a kind we do not know. `append` gets the marks of fetches
    that Python makes itself, outside a graph.
    """
    if isinstance(iterator, (TimedIterator, TimedDistributedIterator)):
        return iterator
    known, batches = _length(iterator)
    if isinstance(iterator, iterator_ops.OwnedIterator):
        twin: Any = TimedIterator(components=(iterator._iterator_resource,), element_spec=iterator.element_spec)
        twin._dataset = getattr(iterator, "_dataset", None)
        plan = Plan(ask_for_end=not known, count_samples=_size_unknown(twin._dataset))
    elif isinstance(iterator, input_lib.DistributedIterator):
        twin = TimedDistributedIterator.__new__(TimedDistributedIterator)
        twin.__dict__.update(iterator.__dict__)
        plan = _OF_SEVERAL
    else:
        return None
    stamps.begin(batches)
    # The original owns the dataset and the py_func registry: it must live as long as its twin.
    twin._feedwatch_original = iterator
    twin._feedwatch_append = append
    return _attach(twin, stamps.queue, plan)


def timed_like(iterator: Any, twin: Any) -> Any:
    """Another iterator with the TypeSpec of `twin`: the compiled function takes it without a trace."""
    if not isinstance(twin, TimedIterator):
        return iterator
    other: Any = TimedIterator(components=(iterator._iterator_resource,), element_spec=twin.element_spec)
    other._dataset = getattr(iterator, "_dataset", None)
    other._feedwatch_original, other._feedwatch_append = iterator, twin._feedwatch_append
    return _attach(other, twin._feedwatch_queue, twin._feedwatch_plan)


def _attach(twin: Any, queue: Any, plan: Plan) -> Any:
    twin._feedwatch_queue, twin._feedwatch_plan = queue, plan
    return twin


def _length(iterator: Any) -> tuple[bool, int | None]:
    """Whether its length is known, and its batches (None: it has no end)."""
    try:
        batches = int(iterator._dataset.cardinality())
    except Exception:
        return False, None
    if batches == tf.data.INFINITE_CARDINALITY:
        return True, None
    return batches >= 0, batches if batches >= 0 else None


def _size_unknown(dataset: Any) -> bool:
    try:
        return dataset is None or batch_size(dataset) is None
    except Exception:
        return True


# -- the twins -----------------------------------------------------------------------------------


class TimedIterator(iterator_ops.OwnedIterator):  # type: ignore[misc]
    # Cached: TypeSpec caches its comparison key, and a new TypeSpec per call costs tf.function's dispatch 50 µs.
    _feedwatch_spec: "TimedIteratorSpec | None" = None
    _feedwatch_append: Append | None = None  # None inside a graph: Python does not run there

    def get_next(self) -> Any:
        return timed_fetch(self, super().get_next)

    def get_next_as_optional(self) -> Any:
        return timed_optional_fetch(self, super().get_next_as_optional)

    def __next__(self) -> Any:
        try:
            return self.get_next()
        except tf.errors.OutOfRangeError:
            raise StopIteration from None

    @property
    def _type_spec(self) -> "TimedIteratorSpec":
        if self._feedwatch_spec is None:
            self._feedwatch_spec = TimedIteratorSpec(self.element_spec, self._feedwatch_plan)
        return self._feedwatch_spec

    def __tf_tracing_type__(self, _: Any) -> "TimedIteratorSpec":
        return self._type_spec


class TimedIteratorSpec(type_spec.TypeSpec):  # type: ignore[misc]
    __slots__ = ["_element_spec", "_plan"]

    def __init__(self, element_spec: Any, plan: tuple[bool, bool]) -> None:
        self._element_spec = element_spec
        self._plan = Plan(*plan)

    @property
    def value_type(self) -> type:
        return TimedIterator

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_spec, tuple(self._plan))

    @property
    def _component_specs(self) -> tuple[Any, ...]:
        resource = tf.TensorSpec([], tf.resource)
        return (resource, resource)

    def _to_components(self, value: Any) -> tuple[Any, ...]:
        return (value._iterator_resource, value._feedwatch_queue)

    def _from_components(self, components: Any) -> TimedIterator:
        twin = TimedIterator(components=(components[0],), element_spec=self._element_spec)
        return _attach(twin, components[1], self._plan)  # type: ignore[no-any-return]


class TimedDistributedIterator(input_lib.DistributedIterator):  # type: ignore[misc]
    _feedwatch_spec: "TimedDistributedIteratorSpec | None" = None
    _feedwatch_append: Append | None = None

    def get_next(self, name: str | None = None) -> Any:
        return timed_fetch(self, super().get_next)

    def get_next_as_optional(self) -> Any:
        return timed_optional_fetch(self, super().get_next_as_optional)

    @property
    def _type_spec(self) -> "TimedDistributedIteratorSpec":
        if self._feedwatch_spec is None:
            self._feedwatch_spec = TimedDistributedIteratorSpec(super()._type_spec)
        return self._feedwatch_spec


class TimedDistributedIteratorSpec(type_spec.TypeSpec):  # type: ignore[misc]
    __slots__ = ["_plain"]

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    @property
    def value_type(self) -> type:
        return TimedDistributedIterator

    def _serialize(self) -> tuple[Any, ...]:
        return (self._plain,)

    @property
    def _component_specs(self) -> tuple[Any, ...]:
        resource = tf.TensorSpec([], tf.resource)
        return (self._plain._component_specs, resource)

    def _to_components(self, value: Any) -> tuple[Any, ...]:
        return (self._plain._to_components(value), value._feedwatch_queue)

    def _from_components(self, components: Any) -> TimedDistributedIterator:
        plain = self._plain._from_components(components[0])
        twin = TimedDistributedIterator.__new__(TimedDistributedIterator)
        twin.__dict__.update(plain.__dict__)
        twin._feedwatch_original = plain
        return _attach(twin, components[1], _OF_SEVERAL)  # type: ignore[no-any-return]


# -- one fetch with its stamps -------------------------------------------------------------------


_guard = Guard("the timed fetch")
_listening: list[tuple[int, Append]] = []  # thread of a fit, its log


def mark_traces(append: Append) -> Callable[[], None]:
    """From now on a TRACED mark goes to this log when this thread traces a fetch. Returns what ends it."""
    entry = (threading.get_ident(), append)
    _listening.append(entry)

    def stop() -> None:
        _listening[:] = [each for each in _listening if each is not entry]

    return stop


def _tell_traced() -> None:
    """The Python code of a fetch runs in a graph context only while Keras traces the train function."""
    for thread, append in tuple(_listening):
        if thread == threading.get_ident():
            append((time.perf_counter_ns(), TRACED, None))


def timed_fetch(twin: Any, fetch: Callable[[], Any]) -> Any:
    """`fetch` gives a batch, or raises at the end of the data."""
    if tf.executing_eagerly():
        return _timed_eagerly(twin, fetch, optional=False)
    return _timed_in_graph(twin, fetch, follows=False, optional=False)


def timed_optional_fetch(twin: Any, fetch: Callable[[], Any]) -> Any:
    """`fetch` gives an optional, which is empty at the end of the data. Keras fetches so in its loop of several steps
    per execution, where it asks for a batch as soon as it has the one before: the second stamp of that one is also the
    first stamp of this one.
    """
    if tf.executing_eagerly():
        return _timed_eagerly(twin, fetch, optional=True)
    return _timed_in_graph(twin, fetch, follows=_in_loop(), optional=True)


def _in_loop() -> bool:
    graph = ops.get_default_graph()
    while graph is not None and not isinstance(graph, WhileBodyFuncGraph):
        graph = getattr(graph, "outer_graph", None)
    return graph is not None


def _timed_in_graph(twin: Any, fetch: Callable[[], Any], *, follows: bool, optional: bool) -> Any:
    _tell_traced()
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
        _guard.failed(error)
        # We cannot take this structure apart: training goes on with a batch that is not timed.
    return out


def _gated(out: Any) -> tuple[Any, Any]:
    """The second stamp, and the batch behind it.

    Compute must not start before the stamp is taken: with one inter-op thread the whole step would run first, and its
    time would be called input. An identity forwards its buffer: nothing is copied.
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
    # Asked only where the end of the data is not known: in a loop of ten steps the question costs 9 µs per batch.
    if plan.ask_for_end:
        got = tf.raw_ops.SelectV2(condition=out.has_value(), t=got, e=tf.constant(NOTHING_GOT, tf.float64))
    return got, samples


def _samples(batch: Any) -> Any:
    """The first dimension of the batch's first part, from the shape: no value is read. A batch may be anything; one
    that cannot be counted is still timed.
    """
    first = next((part for part in tf.nest.flatten(batch) if part is not None), None)
    if isinstance(first, tf.RaggedTensor):
        size = first.nrows()
    elif isinstance(first, tf.SparseTensor):
        size = first.dense_shape[0]
    elif isinstance(first, tf.Tensor) and first.shape.rank != 0:
        # Where the batch is: a device tells a shape from host memory, while on the host the whole batch would be sent
        # back for it.
        beside = ops.colocate_with(first.op, ignore_existing=True) if tf.is_symbolic_tensor(first) else nullcontext()
        with beside:
            shape = tf.shape(first)
        size = shape[0]
    else:
        return tf.constant(NOT_COUNTED, tf.float64)
    return tf.cast(size, tf.float64)


def _timed_eagerly(twin: Any, fetch: Callable[[], Any], *, optional: bool) -> Any:
    append = twin._feedwatch_append
    if append is None:
        return fetch()
    append((time.perf_counter_ns(), ENTER, INPUT))
    out = fetch()
    got_ns = time.perf_counter_ns()
    if not optional:
        append((got_ns, GOT, leading_size(out)))
    elif out.has_value():
        append((got_ns, GOT, leading_size(out.element_spec)))
    else:
        append((got_ns, LEAVE, INPUT))
    return out
