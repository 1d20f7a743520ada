"""In-graph timing of IteratorGetNext, by an iterator that is a composite tensor of its own.

Keras on TensorFlow fetches inside a tf.function, where Python does not run. These iterators have a TypeSpec of
their own, so inside the function they are rebuilt as what they are and `get_next` emits: timestamp, fetch,
timestamp, write to a queue. The queue's handle is a component (an argument, not a capture): one trace serves any
number of fits.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import tensorflow as tf
from tensorflow.python.data.ops import iterator_ops
from tensorflow.python.distribute import input_lib
from tensorflow.python.framework import ops, type_spec
from tensorflow.python.ops.control_flow_v2_func_graphs import WhileBodyFuncGraph

from feedwatch.guard import Guard
from feedwatch.hooks.keras.attribution import Fetch
from feedwatch.hooks.keras.batch_shape import leading_size
from feedwatch.hooks.keras.graph_stamps import AS_THE_LAST_GOT, GraphStamps, emit_row

# The last ones of this process: the Python code here runs in a graph context only while Keras traces.
MAX_TRACES: Final = 1024


class _Traces:
    at_ns: ClassVar[deque[int]] = deque(maxlen=MAX_TRACES)
    guard = Guard("the timed fetch")


def traces_ns() -> Sequence[int]:
    """When a fetch was traced, in order."""
    return _Traces.at_ns


def timed(iterator: Any, stamps: GraphStamps, eager: Callable[[Fetch], None]) -> Any | None:
    """The timed twin of a TensorFlow iterator, or None for a kind we do not know."""
    if isinstance(iterator, (TimedIterator, TimedDistributedIterator)):
        return iterator
    counted, batches = _cardinality(iterator)
    stamps.begin(batches)
    if isinstance(iterator, iterator_ops.OwnedIterator):
        twin: Any = TimedIterator(components=(iterator._iterator_resource,), element_spec=iterator.element_spec)
        twin._dataset = getattr(iterator, "_dataset", None)
    elif isinstance(iterator, input_lib.DistributedIterator):
        twin = TimedDistributedIterator.__new__(TimedDistributedIterator)
        twin.__dict__.update(iterator.__dict__)
    else:
        return None
    # The original owns the dataset and the py_func registry: it must live as long as its twin.
    twin._feedwatch_original = iterator
    twin._feedwatch_eager = eager
    return _attach(twin, stamps.queue, counted)


def _attach(twin: Any, queue: Any, counted: bool) -> Any:
    twin._feedwatch_queue, twin._feedwatch_counted = queue, counted
    return twin


def _cardinality(iterator: Any) -> tuple[bool, int | None]:
    """Whether its length is known, and its batches (None: it has no end)."""
    try:
        batches = int(iterator._dataset.cardinality())
    except Exception:
        return False, None
    if batches == tf.data.INFINITE_CARDINALITY:
        return True, None
    return batches >= 0, batches if batches >= 0 else None


class TimedIterator(iterator_ops.OwnedIterator):  # type: ignore[misc]
    # Cached: TypeSpec caches its comparison key, a new one per call costs tf.function dispatch 50 µs.
    _feedwatch_spec: "TimedIteratorSpec | None" = None
    _feedwatch_eager: Callable[[Fetch], None] | None = None  # inside a graph there is nobody to tell

    def get_next(self) -> Any:
        return _timed_fetch(self, super().get_next)

    def get_next_as_optional(self) -> Any:
        # Where the end of the data is known, nobody needs to ask: in a loop of ten steps that costs 9 µs per batch.
        asks = None if self._feedwatch_counted else lambda out: out.has_value()
        return _timed_fetch(self, super().get_next_as_optional, has_value=asks, follows=_in_loop())

    def __next__(self) -> Any:
        try:
            return self.get_next()
        except tf.errors.OutOfRangeError:
            raise StopIteration from None

    @property
    def _type_spec(self) -> "TimedIteratorSpec":
        if self._feedwatch_spec is None:
            self._feedwatch_spec = TimedIteratorSpec(self.element_spec, self._feedwatch_counted)
        return self._feedwatch_spec

    def __tf_tracing_type__(self, _: Any) -> "TimedIteratorSpec":
        return self._type_spec


class TimedIteratorSpec(type_spec.TypeSpec):  # type: ignore[misc]
    __slots__ = ["_counted", "_element_spec"]

    def __init__(self, element_spec: Any, counted: bool) -> None:
        self._element_spec = element_spec
        self._counted = counted

    @property
    def value_type(self) -> type:
        return TimedIterator

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_spec, self._counted)

    @property
    def _component_specs(self) -> tuple[Any, ...]:
        resource = tf.TensorSpec([], tf.resource)
        return (resource, resource)

    def _to_components(self, value: Any) -> tuple[Any, ...]:
        return (value._iterator_resource, value._feedwatch_queue)

    def _from_components(self, components: Any) -> TimedIterator:
        twin = TimedIterator(components=(components[0],), element_spec=self._element_spec)
        return _attach(twin, components[1], self._counted)  # type: ignore[no-any-return]


class TimedDistributedIterator(input_lib.DistributedIterator):  # type: ignore[misc]
    _feedwatch_spec: "TimedDistributedIteratorSpec | None" = None
    _feedwatch_eager: Callable[[Fetch], None] | None = None

    def get_next(self, name: str | None = None) -> Any:
        return _timed_fetch(self, super().get_next)

    def get_next_as_optional(self) -> Any:
        return _timed_fetch(self, super().get_next_as_optional)

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
        return _attach(twin, components[1], False)  # type: ignore[no-any-return]


def _in_loop() -> bool:
    graph = None if tf.executing_eagerly() else ops.get_default_graph()
    while graph is not None and not isinstance(graph, WhileBodyFuncGraph):
        graph = getattr(graph, "outer_graph", None)
    return graph is not None


def _timed_fetch(
    twin: Any, fetch: Callable[[], Any], has_value: Callable[[Any], Any] | None = None, follows: bool = False
) -> Any:
    """`follows`: in Keras' loop of several steps per execution, which asks for a batch as soon as it has the one
    before: that one's second stamp is this one's first.
    """
    if tf.executing_eagerly():
        return _timed_eagerly(twin, fetch)
    _Traces.at_ns.append(time.perf_counter_ns())
    if follows:
        asked, out = tf.constant(AS_THE_LAST_GOT, tf.float64), fetch()
    else:
        with tf.device("/CPU:0"):
            asked = tf.timestamp()
        with tf.control_dependencies([asked]):
            out = fetch()
    try:
        return _stamped(twin, asked, out, has_value)
    except Exception as error:
        _Traces.guard.failed(error)
        return out  # a structure we cannot take apart is trained on untimed


def _stamped(twin: Any, asked: Any, out: Any, has_value: Callable[[Any], Any] | None) -> Any:
    flat = tf.nest.flatten(out, expand_composites=True)
    with tf.device("/CPU:0"), tf.control_dependencies([tensor.op for tensor in flat]):
        got = tf.timestamp()
    # Compute must not start before the second stamp is taken: with one inter-op thread the whole step would run
    # first and be called input. An identity forwards its buffer, nothing is copied.
    gated = []
    with tf.control_dependencies([got]):
        for tensor in flat:
            with ops.colocate_with(tensor.op):
                gated.append(tf.identity(tensor))
    out = tf.nest.pack_sequence_as(out, gated, expand_composites=True)
    with tf.device("/CPU:0"):
        emit_row(twin._feedwatch_queue, asked, got, None if has_value is None else has_value(out))
    return out


def _timed_eagerly(twin: Any, fetch: Callable[[], Any]) -> Any:
    asked_ns = time.perf_counter_ns()
    out = fetch()
    got_ns = time.perf_counter_ns()
    if twin._feedwatch_eager is not None:
        twin._feedwatch_eager(Fetch(asked_ns, got_ns, leading_size(out)))
    return out
