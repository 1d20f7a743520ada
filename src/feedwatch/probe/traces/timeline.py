"""What a reader hands to the analysis: plain columns of nanoseconds, relative to the file's own start.

Below it stands the arithmetic on sets of intervals: unions, what they cover, what two of them share.
"""

from array import array
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feedwatch.errors import TraceError

Column = NDArray[np.float64]

# Real clocks count from 1970 or from boot; what lies outside a few centuries or lasts for months is damage.
MAX_TIME_NS: Final = 1e19
MAX_DURATION_NS: Final = 1e16
MAX_BYTES: Final = 1 << 44
MAX_DEVICES: Final = 1024

# The host memory a copy comes from.
PINNED: Final = "pinned"
PAGEABLE: Final = "pageable"
OTHER: Final = "other"
UNKNOWN: Final = "unknown"

_STATED: Final = {"pinned": PINNED, "pageable": PAGEABLE, "unknown": UNKNOWN, "host": UNKNOWN}

# Copies of at least this size are input. Smaller ones are scalars and shapes, which show latency and not bandwidth.
LARGE_BYTES: Final = 64 * 1024


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


class Step(NamedTuple):
    start_ns: float
    end_ns: float
    group: int | None = None


class Copies:
    """Copies in columns. A kind of None: the file does not state it."""

    __slots__ = ("correlations", "kinds", "sizes", "spans")

    def __init__(self) -> None:
        self.spans = Spans()
        self.sizes = array("q")
        self.kinds: list[str | None] = []
        self.correlations: list[int | None] = []

    def add(self, start: float, end: float, size_bytes: int, kind: str | None, correlation: int | None = None) -> None:
        self.spans.add(start, end)
        self.sizes.append(size_bytes)
        self.kinds.append(kind)
        self.correlations.append(correlation)

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass(slots=True)
class DeviceTimeline:
    kernels: Spans = field(default_factory=Spans)
    other: Spans = field(default_factory=Spans)  # memsets, and copies in all other directions, d2h included
    h2d: Copies = field(default_factory=Copies)
    d2h: Copies = field(default_factory=Copies)  # back to the host
    steps: list[Step] = field(default_factory=list)  # the device's own, where the file has them

    @property
    def recorded(self) -> bool:
        return bool(len(self.kernels) or len(self.other) or len(self.h2d))


@dataclass(slots=True)
class Timeline:
    source: str  # xspace | kineto
    devices: dict[str, DeviceTimeline] = field(default_factory=dict)
    host_steps: list[Step] = field(default_factory=list)
    waits: Spans = field(default_factory=Spans)  # the host waiting for input
    waits_by_group: dict[int, Spans] = field(default_factory=dict)
    kind_inferred: bool = False
    copies_as_kernels: bool = False  # AMD: kernels copy, and the file does not state the direction
    errors: list[str] = field(default_factory=list)  # the profiler's own words
    problems: list[str] = field(default_factory=list)

    def device(self, name: str) -> DeviceTimeline:
        found = self.devices.get(name)
        if found is None:
            if len(self.devices) >= MAX_DEVICES:
                raise TraceError(f"names more than {MAX_DEVICES} devices")
            found = self.devices[name] = DeviceTimeline()
        return found


def stated_kind(word: str) -> str:
    """`Host` (AMD) names no kind; managed, array and device memory are neither pinned nor pageable."""
    return _STATED.get(word.lower(), OTHER)


def whole_bytes(value: object) -> int:
    """A byte count; 0 if the file states nothing sensible."""
    try:
        size = int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return 0
    return size if 0 <= size < MAX_BYTES else 0


def one_line(text: str, limit: int = 200) -> str:
    """Text from a file as one short line without control characters."""
    printable = "".join(char if char.isprintable() else " " for char in text[: 4 * limit])
    flat = " ".join(printable.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


class Intervals(NamedTuple):
    """Disjoint, sorted, half-open. Made by `union` only."""

    starts: Column
    ends: Column

    @property
    def total(self) -> float:
        return float(np.sum(self.ends - self.starts))


_EMPTY: Column = np.empty(0, dtype=np.float64)
NOTHING: Final = Intervals(_EMPTY, _EMPTY)


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
    """How long both are open."""
    return float(np.sum(covered(one, other.starts, other.ends)))


def intersection(one: Intervals, other: Intervals) -> Intervals:
    """Go through all boundaries in order of time and keep the stretches in which both are open."""
    if not len(one.starts) or not len(other.starts):
        return NOTHING
    times = np.concatenate((one.starts, other.starts, one.ends, other.ends))
    opened = len(one.starts) + len(other.starts)
    change = np.concatenate((np.ones(opened, dtype=np.int64), -np.ones(opened, dtype=np.int64)))
    order = np.lexsort((change, times))  # at the same time ends come first: intervals that only touch share nothing
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
