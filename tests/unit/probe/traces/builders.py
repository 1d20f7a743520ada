"""Small traces of every form, made here: no real file is needed to test a trap."""

import json
from pathlib import Path

from feedwatch.probe.traces.xspace_schema import xspace_class

US_PS = 1_000_000


class PlaneBuilder:
    def __init__(self, space, name):
        self.plane = space.planes.add(name=name.encode())
        self._events = {}
        self._stats = {}

    def line(self, name, timestamp_ns=1_700_000_000_000_000_000):
        return self.plane.lines.add(name=name.encode(), timestamp_ns=timestamp_ns)

    def event(self, line, name, start_us, duration_us, occurrences=0, **stats):
        event = line.events.add(
            metadata_id=self._event_id(name),
            offset_ps=int(start_us * US_PS),
            duration_ps=int(duration_us * US_PS),
            num_occurrences=occurrences,
        )
        for key, value in stats.items():
            stat = event.stats.add(metadata_id=self.stat_id(key))
            if isinstance(value, Ref):
                stat.ref_value = self.stat_id(value)
            elif isinstance(value, str):
                stat.str_value = value.encode()
            else:
                stat.int64_value = value
        return event

    def stat_id(self, name):
        if name not in self._stats:
            entry = self.plane.stat_metadata.add(key=len(self._stats) + 1)
            entry.value.name = str(name).encode()
            self._stats[name] = entry.key
        return self._stats[name]

    def _event_id(self, name):
        if name not in self._events:
            entry = self.plane.event_metadata.add(key=len(self._events) + 1)
            entry.value.name = name.encode()
            self._events[name] = entry.key
        return self._events[name]


class Ref(str):
    """A text that is stored as the name of another stat."""

    __slots__ = ()


class SpaceBuilder:
    def __init__(self):
        self.space = xspace_class()()

    def plane(self, name):
        return PlaneBuilder(self.space, name)

    def error(self, text):
        self.space.errors.append(text.encode())

    def bytes(self):
        return self.space.SerializeToString()

    def write(self, path: Path) -> Path:
        path.write_bytes(self.bytes())
        return path


def gpu_space(details, copy_us=10.0, call_us=None, kernel=None, plane="/device:GPU:0"):
    """One GPU, one step of 100 µs, one copy at 20 µs."""
    space = SpaceBuilder()
    gpu = space.plane(plane)
    gpu.event(gpu.line("Steps"), "0", 0, 100, group_id=0)
    stream = gpu.line("Stream #14(MemcpyH2D)")
    gpu.event(stream, "MemcpyH2D", 20, copy_us, memcpy_details=details, correlation_id=7)
    if kernel is not None:
        gpu.event(gpu.line("Stream #15(Compute)"), "my_kernel", *kernel)
    host = space.plane("/host:CPU")
    line = host.line("python")
    if call_us is not None:
        host.event(line, "MemcpyH2D", 19, call_us, memcpy_details=details, correlation_id=7)
    host.event(line, "IteratorGetNextOp::DoCompute", 0, 15, group_id=0)
    return space


def kineto_event(cat, name, ts, dur, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur, "args": args}


def write_kineto(path: Path, events, **top) -> Path:
    path.write_text(json.dumps({"schemaVersion": 1, **top, "traceEvents": events}))
    return path
