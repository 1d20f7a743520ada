"""A ring of (asked, got) timestamps that lives in TensorFlow, so that a graph can write it without Python."""

import itertools
import time
from typing import Any, Final

import numpy as np
import tensorflow as tf

from feedwatch.hooks.keras.attribution import Fetch

# Drained about once a second and at the latest after half as many fetches; a reader copies all of it.
RING_ROWS: Final = 2048
CALIBRATING_READS: Final = 8

_numbers = itertools.count()


class GraphRing:
    """Raw resource variables: no variable_creator_scope or strategy.scope() of the user's turns them into others."""

    def __init__(self, rows: int = RING_ROWS) -> None:
        self.rows = rows
        self.lost = 0
        self.read_ns: int | None = None  # one small read at its fastest: how fast this machine runs an op
        self._taken = 0
        self._ends: list[tuple[int, int]] = []  # of data: the row behind the last batch, and the next iterator's first
        self._begun: tuple[int, int | None] = (0, None)  # first row and number of batches of the iterator in use
        number = next(_numbers)
        with tf.init_scope(), tf.device("/CPU:0"):
            self.stamps = _variable(f"feedwatch_stamps_{number}", tf.zeros([rows, 2], tf.float64))
            self.count = _variable(f"feedwatch_count_{number}", tf.zeros([], tf.int64))

    def begin(self, batches: int | None) -> None:
        """A new iterator over so many batches (None: not known, or without end). What it is asked for beyond them was
        asked in vain: with several steps per execution Keras finds the end of the data by asking.
        """
        with tf.init_scope():
            row = self._read_count()
        first, before = self._begun
        if before is not None and first + before < row:
            self._ends.append((first + before, row))
        self._begun = (row, batches)

    def drain(self) -> list[Fetch]:
        """New fetches in order, on the monotonic clock. Nothing fetched (the end of the data) is not a fetch."""
        if self.read_ns is None:
            self.read_ns = self._fastest_read_ns()
        with tf.init_scope():
            count = self._read_count()
            if count == self._taken:
                return []
            stamps = tf.raw_ops.ReadVariableOp(resource=self.stamps, dtype=tf.float64).numpy()
        first = max(self._taken, count - self.rows)
        self.lost += first - self._taken
        self._taken = count
        taken = stamps.take(np.arange(first, count), axis=0, mode="wrap")
        fetched = taken[(taken[:, 1] > 0) & ~self._vain(first, count)]
        # The graph stamps the wall clock; everything else of ours is monotonic.
        offset_ns = time.time_ns() - time.perf_counter_ns()
        asked_ns, got_ns = (fetched.T * 1e9).astype(np.int64) - offset_ns
        return list(map(Fetch, asked_ns.tolist(), np.maximum(asked_ns, got_ns).tolist()))

    def _vain(self, first: int, count: int) -> Any:
        begun, batches = self._begun
        ends = [*self._ends, (begun + batches, count)] if batches is not None else self._ends
        vain = np.zeros(count - first, bool)
        for end, following in ends:
            vain[max(0, end - first) : max(0, following - first)] = True
        self._ends = []
        return vain

    def _read_count(self) -> int:
        return int(tf.raw_ops.ReadVariableOp(resource=self.count, dtype=tf.int64).numpy())

    def _fastest_read_ns(self) -> int:
        """Of several in a row: the first read after a pause takes ten times as long as one between other ops."""
        took_ns = []
        with tf.init_scope():
            for _ in range(CALIBRATING_READS):
                began_ns = time.perf_counter_ns()
                self._read_count()
                took_ns.append(time.perf_counter_ns() - began_ns)
        return min(took_ns)

    def destroy(self) -> None:
        for handle in (self.stamps, self.count):
            tf.raw_ops.DestroyResourceOp(resource=handle, ignore_lookup_error=True)


def _variable(name: str, value: Any) -> Any:
    handle = tf.raw_ops.VarHandleOp(dtype=value.dtype, shape=value.shape, container="", shared_name=name)
    tf.raw_ops.AssignVariableOp(resource=handle, value=value)
    return handle


def emit_record(stamps: Any, count: Any, rows: int, asked: Any, got: Any) -> None:
    """In a graph: one row. The counter moves last, so a reader never sees a row that is not there."""
    with tf.device("/CPU:0"):
        index = tf.raw_ops.ReadVariableOp(resource=count, dtype=tf.int64)
        written = tf.raw_ops.ResourceScatterUpdate(
            resource=stamps, indices=index % tf.constant(rows, tf.int64), updates=tf.stack([asked, got])
        )
        with tf.control_dependencies([written]):
            tf.raw_ops.AssignAddVariableOp(resource=count, value=tf.constant(1, tf.int64))
