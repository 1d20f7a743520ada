"""The device planes of an XSpace file: kernels, copies, steps.

Line names such as `Stream #14(MemcpyH2D)` list what was ever seen on the line: they say that it is a stream, and
select no event.
"""

import re
from enum import Enum
from typing import Any, Final

from feedwatch.probe.traces.kinds import stated_kind
from feedwatch.probe.traces.timeline import DeviceTimeline, Step, Timeline, whole_bytes
from feedwatch.probe.traces.xspace_plane import PlaneReader, text

STREAM_LINE: Final = "Stream #"
STEPS_LINE: Final = "Steps"
H2D_NAME: Final = "MemcpyH2D"
D2H_NAME: Final = "MemcpyD2H"
AMD_COPY_KERNEL: Final = "rocclr_copyBuffer"

# Three forms were written over the years: `size:8 dest:0 async:1`, with `kind:pageable` before it, and with
# `kind_src:pinned kind_dst:device` before it. Tokens are taken in any order.
_DETAIL: Final = re.compile(r"(\w+):(\S+)")


class _Nature(Enum):
    KERNEL = 0
    H2D = 1
    D2H = 3
    OTHER = 2  # memset, and copies in other directions


def read_device_plane(plane: Any, timeline: Timeline, name: str, origin_ns: int) -> None:
    reader = PlaneReader(plane, origin_ns)
    device = timeline.device(name)
    for line in reader.lines:
        line_name = text(line.name)
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
            # Events of one name are of one nature: looking at the stats of each would take most of the time.
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
