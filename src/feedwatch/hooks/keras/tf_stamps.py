"""(asked, got, samples) rows in a queue that lives in TensorFlow, so that a graph can write them without Python.

Where op determinism forbids timestamps in a graph, tf.data's own record of its consumer tells the wait instead.
"""

import itertools
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import tensorflow as tf

from feedwatch.hooks.tf_data.model import read_model
from feedwatch.measure.marks import BEGIN, END, Fetch, Marks
from feedwatch.sink import QUEUE_WINDOWS

CALIBRATING_READS: Final = 4
# A queue with a limit would hold training up when it is full. This one is emptied about once a second, and at the
# latest after MOST_ROWS fetches, so it never holds more than that or than one call fetches.
UNLIMITED: Final = -1
MOST_ROWS: Final = 4096
COLUMNS: Final = [tf.float64, tf.float64, tf.float64]
# Instead of a first stamp: the batch was asked for when the one before was there. One op less per turn of a loop.
AS_THE_LAST_GOT: Final = 0.0
# Instead of a second stamp: nothing was there, the data had ended.
NOTHING_GOT: Final = 0.0
# Instead of samples: the size of a batch is known elsewhere, or to nobody.
NOT_COUNTED: Final = 0.0
# What the stamps of one fetch cost, in reads of the queue's size, which take 30 to 70 µs. Measured in alternating
# blocks of four calls with and without us, medians of 1,000 to 2,000 pairs: -2 to 8 µs for the stamps of one fetch, 0
# to 10 per batch with ten steps per execution. (25 to 40 where the pipeline's own functions compete for the CPUs:
# every op between two others then waits for a thread.)
COST_IN_READS: Final = 0.2

_numbers = itertools.count()
# Of queues that are gone. TensorFlow keeps what it made for an op with a new name for ever, 40 kB of it: a name is used
# again.
_free_names: list[str] = []


class _Rows(NamedTuple):
    """Rows as columns, on the monotonic clock. `samples`: 0 where a row does not tell."""

    asked_ns: Any
    got_ns: Any
    samples: Any


class GraphStamps:
    """The training thread empties the queue (`collect`), the sink's thread makes fetches of its rows (`fetches`).

    One op per row: a ring of variables, with its counter and its scatter, cost three times as much in the loop of
    several steps per execution. A raw queue: no scope or strategy of the user's turns it into something else.
    """

    def __init__(self) -> None:
        self._collected: deque[_Rows] = deque(maxlen=QUEUE_WINDOWS)  # as many as windows wait for the sink
        self._taken = 0
        self._last_got = 0.0
        self._taking = threading.Lock()
        # Where data ended: the row behind the last batch, and the first row of the next iterator.
        self._ends: list[tuple[int, int]] = []
        self._begun: tuple[int, int | None] = (0, None)  # first row and number of batches of the iterator in use
        self._name: str | None = _free_name()
        with tf.init_scope(), tf.device("/CPU:0"):
            self.queue = tf.raw_ops.FIFOQueueV2(
                component_types=COLUMNS,
                shapes=[[]] * len(COLUMNS),
                capacity=UNLIMITED,
                container="",
                shared_name=self._name,
            )

    def begin(self, batches: int | None) -> None:
        """A new iterator over so many batches (None: not known, or without end). With several steps per execution Keras
        finds the end of the data by asking for more: rows beyond that number brought nothing.
        """
        row = self._taken + self.waiting()
        first, before = self._begun
        if before is not None and first + before < row:
            self._ends.append((first + before, row))
        self._begun = (row, batches)

    def collect(self) -> None:
        """On the training thread, before its marks are handed over: then no row of a finished call is missing."""
        # Never waits: of two readers at once (another thread, or a finaliser inside this one) the slower one would ask
        # for rows that the other has taken, and wait for ever.
        if not self._taking.acquire(blocking=False):
            return
        try:
            rows = self.waiting()
            if rows:
                self._collected.append(self._dequeue(rows))
        finally:
            self._taking.release()

    def fetches(self) -> Iterator[Fetch]:
        """On the sink's thread: what was collected since the last time, in order."""
        while self._collected:
            asked_ns, got_ns, samples = self._collected.popleft()
            counted = [each or None for each in samples.tolist()]
            yield from map(Fetch._make, zip(asked_ns.tolist(), got_ns.tolist(), counted, strict=True))

    def discard(self) -> None:
        """We are switched off, and the graph goes on stamping: nothing may pile up."""
        self.collect()
        self._collected.clear()

    def _dequeue(self, rows: int) -> _Rows:
        with tf.init_scope():
            columns = tf.raw_ops.QueueDequeueManyV2(handle=self.queue, n=rows, component_types=COLUMNS)
        asked, got, samples = (column.numpy() for column in columns)
        asked = np.where(asked == AS_THE_LAST_GOT, np.append(self._last_got, got[:-1]), asked)
        self._last_got = float(got[-1])
        there = (got != NOTHING_GOT) & ~self._beyond_the_end(self._taken, self._taken + rows)
        self._taken += rows
        # The graph stamps the wall clock; everything else of ours is monotonic.
        offset_ns = time.time_ns() - time.perf_counter_ns()
        asked_ns = (asked[there] * 1e9).astype(np.int64) - offset_ns
        got_ns = (got[there] * 1e9).astype(np.int64) - offset_ns
        return _Rows(asked_ns, np.maximum(asked_ns, got_ns), samples[there].astype(np.int64))

    def _beyond_the_end(self, first: int, behind: int) -> Any:
        begun, batches = self._begun
        ends = [*self._ends, (begun + batches, behind)] if batches is not None else self._ends
        beyond = np.zeros(behind - first, bool)
        for end, following in ends:
            beyond[max(0, end - first) : max(0, following - first)] = True
        self._ends = []
        return beyond

    def waiting(self) -> int:
        with tf.init_scope():
            return int(tf.raw_ops.QueueSizeV2(handle=self.queue).numpy())

    def cost_ns(self, batches_per_call: int) -> float:
        """What the stamps cost a call, from how fast this machine runs a small op. The first read after a pause takes
        ten times as long as one between other ops: the fastest counts.
        """
        took_ns = []
        for _ in range(CALIBRATING_READS):
            began_ns = time.perf_counter_ns()
            self.waiting()
            took_ns.append(time.perf_counter_ns() - began_ns)
        return min(took_ns) * COST_IN_READS * batches_per_call

    def destroy(self) -> None:
        name, self._name = self._name, None
        if name is not None:
            tf.raw_ops.DestroyResourceOp(resource=self.queue, ignore_lookup_error=True)
            _free_names.append(name)


def _free_name() -> str:
    try:
        return _free_names.pop()
    except IndexError:
        return f"feedwatch_stamps_{next(_numbers)}"


def emit_row(queue: Any, asked: Any, got: Any, samples: Any) -> None:
    """In a graph: one row."""
    tf.raw_ops.QueueEnqueueV2(handle=queue, components=[asked, got, samples])


# -- under op determinism ------------------------------------------------------------------------

# tf.data keeps the last 100 gaps; half of them leaves room for a step that comes late.
GAPS_PER_LOOK: Final = 50


class DataGaps:
    """tf.data keeps the last 100 gaps between two GetNext calls, in microseconds. The time between two BEGIN marks less
    the gap is what GetNext took: within 0.12 ms of the in-graph figure, on one device.
    """

    def __init__(self, marks: Marks, no_gaps: Callable[[], None]) -> None:
        """`no_gaps` is told where tf.data keeps none."""
        self._marks = marks
        self._no_gaps = no_gaps
        self._live: weakref.ref[Any] | None = None
        self._batches = 0
        self._last_begin_ns: int | None = None  # its gap ends with the next call
        self._collected: deque[list[Fetch]] = deque(maxlen=QUEUE_WINDOWS)

    def wrap(self, iterator: Any) -> Any:
        """A new iterator. What the old one knows is read before it goes."""
        self.collect()
        self._live = weakref.ref(iterator)
        self._batches, self._last_begin_ns = 0, None
        return iterator

    def collect(self) -> None:
        """On the training thread, before its marks are handed over."""
        live = None if self._live is None else self._live()
        if live is None:
            return
        try:
            model = read_model(tf.data.experimental.get_model_proto(live))
        except (tf.errors.NotFoundError, AttributeError, TypeError):  # autotuning is off, or there are several devices
            self._no_gaps()
            return
        if model is None:
            return
        begins_ns = self._finished_calls_ns()
        gaps = model.batches - (self._batches or 1)
        self._batches = model.batches
        self._collected.append(pair(begins_ns, model.gaps_us, gaps))
        self._last_begin_ns = begins_ns[-1] if begins_ns else None

    def fetches(self) -> Iterator[Fetch]:
        """On the sink's thread."""
        while self._collected:
            yield from self._collected.popleft()

    def discard(self) -> None:
        self._collected.clear()

    def close(self) -> None:
        self._live = None

    def _finished_calls_ns(self) -> list[int]:
        """When each call began whose gap is not known yet. A call that has not ended may not have fetched."""
        found = [] if self._last_begin_ns is None else [self._last_begin_ns]
        begin_ns = None
        for ns, what, _ in self._marks.rows:
            if what == BEGIN:
                begin_ns = ns
            elif what == END and begin_ns is not None and (not found or begin_ns > found[-1]):
                found.append(begin_ns)
        return found


def pair(begins_ns: list[int], gaps_us: tuple[int, ...], gaps: int) -> list[Fetch]:
    """The last gap lies between the last two fetches. Counted from the end, so that lost ones do not shift the rest.
    `gaps`: how many of them are new.
    """
    spans = list(pairwise(begins_ns))
    count = min(len(spans), len(gaps_us), max(0, gaps))
    if not count:
        return []
    return [
        Fetch(begin_ns, begin_ns + max(0, next_ns - begin_ns - gap_us * 1000))
        for (begin_ns, next_ns), gap_us in zip(spans[-count:], gaps_us[-count:], strict=True)
    ]
