"""Arithmetic on sets of time intervals: unions, what they cover, what two of them share."""

from array import array
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float64]
EMPTY: Column = np.empty(0, dtype=np.float64)


class Intervals(NamedTuple):
    """Disjoint, sorted, half-open. Made by `union` only."""

    starts: Column
    ends: Column

    @property
    def total(self) -> float:
        return float(np.sum(self.ends - self.starts))


NOTHING = Intervals(EMPTY, EMPTY)


class Spans:
    """A growing list of intervals that may overlap; 16 bytes each, so a million of them stay small."""

    __slots__ = ("ends", "starts")

    def __init__(self) -> None:
        self.starts = array("d")
        self.ends = array("d")

    def add(self, start: float, end: float) -> None:
        self.starts.append(start)
        self.ends.append(end)

    def __len__(self) -> int:
        return len(self.starts)

    def columns(self) -> tuple[Column, Column]:
        return np.array(self.starts, dtype=np.float64), np.array(self.ends, dtype=np.float64)


def union(*spans: Spans) -> Intervals:
    columns = [each.columns() for each in spans if len(each)]
    if not columns:
        return NOTHING
    starts = np.concatenate([starts for starts, _ in columns])
    ends = np.concatenate([ends for _, ends in columns])
    return union_of(starts, ends)


def union_of(starts: Column, ends: Column) -> Intervals:
    whole = ends > starts
    starts, ends = starts[whole], ends[whole]
    if not len(starts):
        return NOTHING
    order = np.argsort(starts, kind="stable")
    starts, reach = starts[order], np.maximum.accumulate(ends[order])
    opens = np.concatenate(([True], starts[1:] > reach[:-1]))
    first = np.flatnonzero(opens)
    last = np.concatenate((first[1:] - 1, [len(starts) - 1]))
    return Intervals(starts[first], reach[last])


def covered(by: Intervals, starts: Column, ends: Column) -> Column:
    """For each [start, end): how much of it the intervals cover."""
    return np.maximum(0.0, _covered_before(by, ends) - _covered_before(by, starts))


def shared(one: Intervals, other: Intervals) -> float:
    """Measure of the intersection."""
    return float(np.sum(covered(one, other.starts, other.ends)))


def intersection(one: Intervals, other: Intervals) -> Intervals:
    """Sweep over all boundaries: where both are open, the intersection is."""
    if not len(one.starts) or not len(other.starts):
        return NOTHING
    times = np.concatenate((one.starts, other.starts, one.ends, other.ends))
    opened = len(one.starts) + len(other.starts)
    change = np.concatenate((np.ones(opened, dtype=np.int64), -np.ones(opened, dtype=np.int64)))
    order = np.lexsort((change, times))  # at the same time ends come first: touching is not sharing
    times, depth = times[order], np.cumsum(change[order])
    both = np.flatnonzero(depth[:-1] == 2)
    return union_of(times[both], times[both + 1])


def _covered_before(by: Intervals, times: Column) -> Column:
    if not len(by.starts):
        return np.zeros(len(times))
    lengths = by.ends - by.starts
    before = np.concatenate(([0.0], np.cumsum(lengths)))
    index = np.searchsorted(by.starts, times, side="right") - 1
    inside = np.minimum(times, by.ends[index]) - by.starts[index]
    return np.where(index >= 0, before[index] + inside, 0.0)
