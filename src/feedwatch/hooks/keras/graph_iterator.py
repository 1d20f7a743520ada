"""In-graph timing of IteratorGetNext, by an iterator that is a composite tensor of its own.

Keras on TensorFlow fetches inside a tf.function, where Python does not run. These iterators have a TypeSpec of
their own, so inside the function they are rebuilt as what they are and `get_next` emits: timestamp, fetch,
timestamp, write to a queue. The queue's handle is a component (an argument, not a capture): one trace serves any
number of fits.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.data.ops import iterator_ops
from tensorflow.python.distribute import input_lib
from tensorflow.python.framework import type_spec

from feedwatch.hooks.keras.attribution import Fetch
from feedwatch.hooks.keras.graph_fetch import Plan, timed_fetch, timed_optional_fetch
from feedwatch.hooks.keras.graph_stamps import GraphStamps
from feedwatch.hooks.keras.pipeline_walk import batch_size


def timed(iterator: Any, stamps: GraphStamps, eager: Callable[[Fetch], None]) -> Any | None:
    """The timed twin of a TensorFlow iterator, or None for a kind we do not know."""
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
    twin._feedwatch_eager = eager
    return _attach(twin, stamps.queue, plan)


# A batch of several devices is in parts, and its optional is no plain one.
_OF_SEVERAL = Plan(ask_for_end=False, count_samples=False)


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


class TimedIterator(iterator_ops.OwnedIterator):  # type: ignore[misc]
    # Cached: TypeSpec caches its comparison key, a new one per call costs tf.function dispatch 50 µs.
    _feedwatch_spec: "TimedIteratorSpec | None" = None
    _feedwatch_eager: Callable[[Fetch], None] | None = None  # inside a graph there is nobody to tell

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
    _feedwatch_eager: Callable[[Fetch], None] | None = None

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
