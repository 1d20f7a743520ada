"""Reads an XSpace file (tf.profiler, JAX) into a timeline.

Copies are taken from device planes only: host threads carry a twin of each with the same name and correlation id
(the driver's call), and everything would count twice.
"""

import re
import statistics
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final

from google.protobuf.message import DecodeError

from feedwatch.errors import TraceError
from feedwatch.probe.traces.timeline import (
    LARGE_BYTES,
    MAX_DURATION_NS,
    MAX_TIME_NS,
    PAGEABLE,
    PINNED,
    Copies,
    DeviceTimeline,
    Spans,
    Step,
    Timeline,
    one_line,
    stated_kind,
    whole_bytes,
)
from feedwatch.probe.traces.xspace_schema import xspace_class

Ids = frozenset[int]

GPU_PLANE: Final = re.compile(r"/device:GPU:\d+")
CPU_PLANE: Final = "/host:CPU"
MAX_ERROR_TEXTS: Final = 8
# A part of two bytes takes about 80 once it is parsed, and a small compressed file may hold a hundred million of them.
# Counting the bytes that could begin a part (its field's number, in the short form or a longer one) finds at least as
# many as there are, and some quotes and line feeds besides.
MAX_PARTS: Final = 16_000_000
_FIRST_BYTES: Final = tuple(bytes([longer | field << 3 | 2]) for field in range(1, 6) for longer in (0, 0x80))

# A line's name, such as `Stream #14(MemcpyH2D)`, lists what was ever seen on it: it says that the line is a stream, and
# selects no event.
STREAM_LINE: Final = "Stream #"
STEPS_LINE: Final = "Steps"
H2D_NAME: Final = "MemcpyH2D"
D2H_NAME: Final = "MemcpyD2H"
AMD_COPY_KERNEL: Final = "rocclr_copyBuffer"

# Three forms were written over the years: `size:8 dest:0 async:1`, with `kind:pageable` before it, and with
# `kind_src:pinned kind_dst:device` before it. Tokens are taken in any order.
_DETAIL: Final = re.compile(r"(\w+):(\S+)")

_GET_NEXT: Final = re.compile(r"IteratorGetNext\w*Op::DoCompute|MultiDeviceIteratorGetNext")
_ITERATOR_ROOT: Final = re.compile(r"Iterator::(?!.*::)")  # its stages are Iterator::Root::Stage
_COPY_CALL: Final = re.compile(r"MemcpyH2D$|cu(da)?Memcpy")

# The call that begins a copy from pageable memory returns after the driver has staged the bytes; for pinned memory it
# returns before the copy.
# In 17 traces that state the kind, the median of call time / copy time was at least 1.04 for pageable and at most
# 0.20 for pinned. No trace lay between the two, so a ratio there decides nothing.
PAGEABLE_CALL_RATIO: Final = 0.8
PINNED_CALL_RATIO: Final = 0.4


def read_xspace(data: bytes) -> Timeline:
    space = _parse(data)
    timeline = Timeline("xspace", errors=[one_line(_text(error)) for error in space.errors[:MAX_ERROR_TEXTS]])
    origin_ns = min((line.timestamp_ns for plane in space.planes for line in plane.lines), default=0)
    host = HostReader(timeline)
    for plane in space.planes:
        name = _text(plane.name)
        if GPU_PLANE.fullmatch(name):
            read_device_plane(plane, timeline, name, origin_ns)
        elif name.startswith("/host:"):
            host.read(plane, name, origin_ns)
    host.finish()
    for device in timeline.devices.values():
        timeline.kind_inferred |= infer_kinds(device.h2d, host.call_ns)
        device.steps = whole_steps(device.steps, timeline.host_steps)
    return timeline


def whole_steps(device_steps: list[Step], host_steps: list[Step]) -> list[Step]:
    """The device's steps without a first or last one that was cut off.

    The profiler starts and stops in the middle of a step. The file then has that step's kernels but not the host's
    event, which is written only at the end of a whole step. So a first or last step without a host event is a piece.
    """
    steps = sorted(device_steps, key=lambda step: step.start_ns)
    groups = {step.group for step in host_steps if step.group is not None}
    if not groups or not any(step.group in groups for step in steps):
        return steps
    first = next(index for index, step in enumerate(steps) if step.group in groups)
    last = max(index for index, step in enumerate(steps) if step.group in groups)
    return steps[first : last + 1]


def _parse(data: bytes) -> Any:
    if sum(data.count(first) for first in _FIRST_BYTES) > MAX_PARTS:
        raise TraceError(f"more than {MAX_PARTS:,} parts: too many to hold")
    space = xspace_class()()
    try:
        space.ParseFromString(data)
    except (DecodeError, ValueError, RecursionError) as error:
        raise TraceError("not a whole XSpace file: it is cut off or of another format") from error
    if not space.planes or not any(plane.name for plane in space.planes):
        raise TraceError("not an XSpace file: it has no planes")
    return space


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


class PlaneReader:
    def __init__(self, plane: Any, origin_ns: int) -> None:
        self.lines = plane.lines
        self.aggregated = 0  # events that are only counts, without a time
        self._origin_ns = origin_ns
        self._event_metadata = {entry.key: entry.value for entry in plane.event_metadata}
        self.event_names = {key: _text(value.name) for key, value in self._event_metadata.items()}
        self._stat_names = {entry.key: _text(entry.value.name) for entry in plane.stat_metadata}

    def ids_of(self, stat: str) -> Ids:
        """The numbers under which a stat's name is registered: none, one or several."""
        return frozenset(key for key, name in self._stat_names.items() if name == stat)

    def name_of(self, event: Any) -> str:
        return self.event_names.get(event.metadata_id, "")

    def timed_events(self, line: Any) -> Iterator[tuple[Any, float, float]]:
        """Each event with its start and end in ns. Events with damaged times or without any are left out."""
        line_ns = line.timestamp_ns - self._origin_ns
        for event in line.events:
            if event.num_occurrences:
                self.aggregated += 1
                continue
            start_ns = line_ns + event.offset_ps / 1000
            duration_ns = max(0.0, event.duration_ps / 1000)
            if -MAX_TIME_NS < start_ns < MAX_TIME_NS and duration_ns < MAX_DURATION_NS:
                yield event, start_ns, start_ns + duration_ns

    def stat(self, event: Any, ids: Ids) -> Any | None:
        """The event's own stat, or the one that all events of the same name share."""
        if not ids:
            return None
        for stat in event.stats:
            if stat.metadata_id in ids:
                return stat
        metadata = self._event_metadata.get(event.metadata_id)
        if metadata is not None:
            for stat in metadata.stats:
                if stat.metadata_id in ids:
                    return stat
        return None

    def whole_number(self, event: Any, ids: Ids) -> int | None:
        stat = self.stat(event, ids)
        return None if stat is None else int(stat.int64_value or stat.uint64_value)

    def words(self, event: Any, ids: Ids) -> str | None:
        """A text is stored in the stat itself, or as the name of another stat that the stat refers to."""
        stat = self.stat(event, ids)
        if stat is None:
            return None
        own: bytes = stat.str_value or stat.bytes_value
        return _text(own) if own else self._stat_names.get(stat.ref_value, "")


class HostReader:
    """Collects from all host planes. Waits and steps may be in several places; `finish` decides which one counts."""

    def __init__(self, timeline: Timeline) -> None:
        self.call_ns: dict[int, float] = {}  # by correlation id: how long the host was in the call
        self._timeline = timeline
        self._iterator_roots = Spans()
        self._group_roots: list[Step] = []

    def read(self, plane: Any, name: str, origin_ns: int) -> None:
        reader = PlaneReader(plane, origin_ns)
        self._read_copy_calls(reader)
        if name == CPU_PLANE:
            self._read_waits(reader)
            self._read_steps(reader)

    def finish(self) -> None:
        timeline = self._timeline
        if not len(timeline.waits):
            timeline.waits = self._iterator_roots
        # Files of one batch have neither step numbers nor a device's Steps line, but name the group's root.
        if not timeline.host_steps and not any(device.steps for device in timeline.devices.values()):
            timeline.host_steps = self._group_roots
        timeline.host_steps = sorted(set(timeline.host_steps), key=lambda step: (step.start_ns, step.end_ns))

    def _read_waits(self, reader: PlaneReader) -> None:
        get_next = _ids_matching(reader, _GET_NEXT.match)
        roots = _ids_matching(reader, _ITERATOR_ROOT.match)
        groups = reader.ids_of("group_id")
        for line in reader.lines:
            for event, start, end in reader.timed_events(line):
                if event.metadata_id in get_next:
                    self._timeline.waits.add(start, end)
                    group = reader.whole_number(event, groups)
                    if group is not None:
                        self._timeline.waits_by_group.setdefault(group, Spans()).add(start, end)
                elif event.metadata_id in roots:
                    self._iterator_roots.add(start, end)

    def _read_steps(self, reader: PlaneReader) -> None:
        groups = reader.ids_of("group_id")
        for stat, found in (("step_num", self._timeline.host_steps), ("step_name", self._group_roots)):
            ids = reader.ids_of(stat)
            if not ids:
                continue
            carriers: dict[int, bool] = {}  # by name: whether events of that name carry the stat
            for line in reader.lines:
                for event, start, end in reader.timed_events(line):
                    carries = carriers.get(event.metadata_id)
                    if carries is None:
                        carries = carriers[event.metadata_id] = reader.stat(event, ids) is not None
                    if carries and end > start and reader.stat(event, ids) is not None:
                        found.append(Step(start, end, reader.whole_number(event, groups)))

    def _read_copy_calls(self, reader: PlaneReader) -> None:
        correlations = reader.ids_of("correlation_id")
        calls = _ids_matching(reader, _COPY_CALL.match) if correlations else frozenset()
        if not calls:
            return
        for line in reader.lines:
            for event, start, end in reader.timed_events(line):
                if event.metadata_id in calls:
                    correlation = reader.whole_number(event, correlations)
                    if correlation is not None:
                        self.call_ns[correlation] = end - start


def _ids_matching(reader: PlaneReader, matches: Any) -> frozenset[int]:
    return frozenset(key for key, name in reader.event_names.items() if matches(name))


class _Nature(Enum):
    KERNEL = 0
    H2D = 1
    D2H = 3
    OTHER = 2  # memset, and copies in other directions


def read_device_plane(plane: Any, timeline: Timeline, name: str, origin_ns: int) -> None:
    reader = PlaneReader(plane, origin_ns)
    device = timeline.device(name)
    for line in reader.lines:
        line_name = _text(line.name)
        if line_name == STEPS_LINE:
            groups = reader.ids_of("group_id")
            device.steps += [
                Step(start, end, reader.whole_number(event, groups))
                for event, start, end in reader.timed_events(line)
                if end > start
            ]
        elif line_name.startswith(STREAM_LINE):
            _read_stream(reader, line, device)
    if reader.aggregated:
        timeline.problems.append(f"{name}: {reader.aggregated} aggregated events have no time and are left out")
    if any(AMD_COPY_KERNEL in event_name for event_name in reader.event_names.values()):
        timeline.copies_as_kernels = True


def _read_stream(reader: PlaneReader, line: Any, device: DeviceTimeline) -> None:
    details_ids = reader.ids_of("memcpy_details")
    correlation_ids = reader.ids_of("correlation_id")
    natures: dict[int, _Nature] = {}
    kernels, other = device.kernels, device.other
    for event, start, end in reader.timed_events(line):
        nature = natures.get(event.metadata_id)
        if nature is None:
            # All events of one name are of one nature. Looking at each event's stats would take most of the time.
            is_copy = reader.stat(event, details_ids) is not None
            nature = natures[event.metadata_id] = _nature(reader.name_of(event), is_copy)
        if nature is _Nature.KERNEL:
            kernels.add(start, end)
        elif nature is _Nature.OTHER:
            other.add(start, end)
        else:
            size_bytes, kind = _details(reader.words(event, details_ids))
            copies = device.h2d if nature is _Nature.H2D else device.d2h
            copies.add(start, end, size_bytes, kind, reader.whole_number(event, correlation_ids))
            if nature is _Nature.D2H:
                other.add(start, end)


def _nature(name: str, is_copy: bool) -> _Nature:
    if name == H2D_NAME:
        return _Nature.H2D
    if name == D2H_NAME:
        return _Nature.D2H
    return _Nature.OTHER if is_copy or name.startswith(("Memcpy", "Memset")) else _Nature.KERNEL


def _details(words: str | None) -> tuple[int, str | None]:
    """Bytes, and the kind of the memory they came from; None where this form does not say."""
    tokens = dict(_DETAIL.findall(words or ""))
    kind = tokens.get("kind_src") or tokens.get("kind")
    return whole_bytes(tokens.get("size", 0)), stated_kind(kind) if kind else None


def infer_kinds(copies: Copies, call_ns: Mapping[int, float]) -> bool:
    """Fill in the kind of large copies that state none. True if any was inferred.

    Small copies stay unknown: the driver stages them at once from either memory.
    """
    unstated = [index for index, kind in enumerate(copies.kinds) if kind is None]
    large = [index for index in unstated if copies.sizes[index] >= LARGE_BYTES]
    ratios = [ratio for index in large if (ratio := _call_ratio(copies, index, call_ns)) is not None]
    kind = _kind_of_ratio(statistics.median(ratios)) if ratios else None
    if kind is None:
        return False
    for index in large:
        copies.kinds[index] = kind
    return True


def _call_ratio(copies: Copies, index: int, call_ns: Mapping[int, float]) -> float | None:
    correlation = copies.correlations[index]
    copy_ns = copies.spans.ends[index] - copies.spans.starts[index]
    if correlation is None or correlation not in call_ns or copy_ns <= 0:
        return None
    return call_ns[correlation] / copy_ns


def _kind_of_ratio(ratio: float) -> str | None:
    if ratio >= PAGEABLE_CALL_RATIO:
        return PAGEABLE
    return PINNED if ratio <= PINNED_CALL_RATIO else None
