"""(asked, got, samples) rows in a queue that lives in TensorFlow, so that a graph can write it without Python."""

import itertools
import threading
import time
from typing import Any, Final

import numpy as np
import tensorflow as tf

from feedwatch.hooks.keras.fetch_columns import FetchColumns, no_fetches

CALIBRATING_READS: Final = 4
# A queue with a limit would hold the training up when it is full. This one is emptied about once a second and at the
# latest after DRAIN_FETCHES fetches, so it never holds more than that or than one call fetches.
UNLIMITED: Final = -1
COLUMNS: Final = [tf.float64, tf.float64, tf.float64]
# Instead of a first stamp: asked for when the fetch before was there. An op less in each turn of a loop.
AS_THE_LAST_GOT: Final = 0.0
# Instead of a second one: nothing was there, the data had ended.
NOTHING_GOT: Final = 0.0
# Instead of samples: the size of a batch is known elsewhere, or to nobody.
NOT_COUNTED: Final = 0.0

_numbers = itertools.count()


class GraphStamps:
    """One op per row: a ring of variables, with its counter and its scatter, cost three times as much in the loop of
    several steps per execution. A raw queue: no scope or strategy of the user's turns it into something else.
    """

    def __init__(self) -> None:
        self.read_ns: int | None = None  # one small read at its fastest: how fast this machine runs an op
        self._taken = 0
        self._last_got = 0.0
        self._taking = threading.Lock()
        self._ends: list[tuple[int, int]] = []  # of data: the row behind the last batch, and the next iterator's first
        self._begun: tuple[int, int | None] = (0, None)  # first row and number of batches of the iterator in use
        with tf.init_scope(), tf.device("/CPU:0"):
            self.queue = tf.raw_ops.FIFOQueueV2(
                component_types=COLUMNS,
                shapes=[[]] * len(COLUMNS),
                capacity=UNLIMITED,
                container="",
                shared_name=f"feedwatch_stamps_{next(_numbers)}",
            )

    def begin(self, batches: int | None) -> None:
        """A new iterator over so many batches (None: not known, or without end). What it is asked for beyond them was
        asked in vain: with several steps per execution Keras finds the end of the data by asking.
        """
        row = self._taken + self._waiting()
        first, before = self._begun
        if before is not None and first + before < row:
            self._ends.append((first + before, row))
        self._begun = (row, batches)

    def drain(self) -> FetchColumns:
        """New fetches in order, on the monotonic clock. Nothing fetched (the end of the data) is not a fetch."""
        if self.read_ns is None:
            self.read_ns = self._fastest_read_ns()
        # Never waits: two readers at once, a second thread or a finaliser inside this one, would ask for the same
        # rows, and the slower one would wait for rows that nobody writes.
        if not self._taking.acquire(blocking=False):
            return no_fetches()
        try:
            return self._take(self._waiting())
        finally:
            self._taking.release()

    def _take(self, rows: int) -> FetchColumns:
        if not rows:
            return no_fetches()
        with tf.init_scope():
            columns = tf.raw_ops.QueueDequeueManyV2(handle=self.queue, n=rows, component_types=COLUMNS)
        asked, got, samples = (column.numpy() for column in columns)
        asked = np.where(asked == AS_THE_LAST_GOT, np.append(self._last_got, got[:-1]), asked)
        self._last_got = float(got[-1])
        there = (got != NOTHING_GOT) & ~self._vain(self._taken, self._taken + rows)
        self._taken += rows
        # The graph stamps the wall clock; everything else of ours is monotonic.
        offset_ns = time.time_ns() - time.perf_counter_ns()
        asked_ns = (asked[there] * 1e9).astype(np.int64) - offset_ns
        got_ns = (got[there] * 1e9).astype(np.int64) - offset_ns
        return FetchColumns(asked_ns, np.maximum(asked_ns, got_ns), samples[there].astype(np.int64))

    def _vain(self, first: int, count: int) -> Any:
        begun, batches = self._begun
        ends = [*self._ends, (begun + batches, count)] if batches is not None else self._ends
        vain = np.zeros(count - first, bool)
        for end, following in ends:
            vain[max(0, end - first) : max(0, following - first)] = True
        self._ends = []
        return vain

    def _waiting(self) -> int:
        with tf.init_scope():
            return int(tf.raw_ops.QueueSizeV2(handle=self.queue).numpy())

    def _fastest_read_ns(self) -> int:
        """Of several in a row: the first read after a pause takes ten times as long as one between other ops."""
        took_ns = []
        for _ in range(CALIBRATING_READS):
            began_ns = time.perf_counter_ns()
            self._waiting()
            took_ns.append(time.perf_counter_ns() - began_ns)
        return min(took_ns)

    def destroy(self) -> None:
        tf.raw_ops.DestroyResourceOp(resource=self.queue, ignore_lookup_error=True)


def emit_row(queue: Any, asked: Any, got: Any, samples: Any) -> None:
    """In a graph: one row."""
    tf.raw_ops.QueueEnqueueV2(handle=queue, components=[asked, got, samples])
