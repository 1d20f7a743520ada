"""Under op determinism no timestamp may run in a graph: tf.data's own record of its consumer tells the wait instead.

tf.data keeps the last 100 gaps between two GetNext calls, in microseconds. The step's period less the gap is what
GetNext itself took. Within 0.12 ms of the in-graph figure; on one device only.
"""

import weakref
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import tensorflow as tf

from feedwatch.hooks.keras.attribution import Fetch
from feedwatch.hooks.tf_data.model import read_model

# tf.data keeps 100 gaps; half of them leaves room for a step that comes late.
DRAIN_CALLS: Final = 50

DETERMINISM = (
    "exact input wait: op determinism forbids timestamps in the graph; the wait is estimated from tf.data's own gaps"
)


class PassiveSource:
    name = "tf.data gaps"
    measures = True
    per_iterator = True  # what one iterator knows must be read before the next takes its place
    drain_calls = DRAIN_CALLS

    def __init__(self, begins_ns: Callable[[], list[int]]) -> None:
        """`begins_ns`: when each finished call that is not yet paired began."""
        self._begins_ns = begins_ns
        self._live: weakref.ref[Any] | None = None
        self._batches = 0

    def wrap(self, iterator: Any) -> Any:
        self._live = weakref.ref(iterator)
        self._batches = 0
        return iterator

    def drain(self) -> list[Fetch]:
        live = None if self._live is None else self._live()
        if not isinstance(live, tf.data.Iterator):
            return []
        try:
            model = read_model(tf.data.experimental.get_model_proto(live))
        except (tf.errors.NotFoundError, AttributeError):
            return []
        if model is None:
            return []
        fetched, self._batches = model.batches - self._batches, model.batches
        return pair(self._begins_ns(), model.gaps_us, fetched)

    def close(self) -> None:
        return


def pair(begins_ns: list[int], gaps_us: tuple[int, ...], fetched: int) -> list[Fetch]:
    """The last gap lies between the last two fetches. Counted from the end, so that lost ones do not shift the rest."""
    fetches = []
    spans = list(pairwise(begins_ns))
    count = min(len(spans), len(gaps_us), max(0, fetched - 1))
    if not count:
        return []
    for (begin_ns, next_ns), gap_us in zip(spans[-count:], gaps_us[-count:], strict=True):
        fetches.append(Fetch(begin_ns, begin_ns + max(0, next_ns - begin_ns - gap_us * 1000)))
    return fetches
