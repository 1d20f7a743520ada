"""PyTorch's profiler (Kineto): a trace file in Chrome's JSON format, or the events of a profiler in this process."""

import codecs
import math
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

from feedwatch.errors import TraceError
from feedwatch.probe.traces.json_stream import JsonStream
from feedwatch.probe.traces.source import TraceSource
from feedwatch.probe.traces.timeline import (
    MAX_TIME_NS,
    UNKNOWN,
    Step,
    Timeline,
    one_line,
    stated_kind,
    whole_bytes,
)

# Files of 2021 capitalise their categories and name some of them differently.
_OLD_CATEGORIES: Final = {"memcpy": "gpu_memcpy", "memset": "gpu_memset"}
_DEVICE_CATEGORIES: Final = frozenset(("kernel", "gpu_memcpy", "gpu_memset"))
_FROM_TO: Final = re.compile(r"\((\w+) -> (\w+)\)")
_TO_DEVICE: Final = ("HtoD", "HostToDevice")
_TO_HOST: Final = ("DtoH", "DeviceToHost")

NS_PER_US: Final = 1000.0
# Some versions wrote Windows paths and kernel names with bare backslashes. The first repair doubles those that cannot
# be an escape; the second, for a path that ends in a backslash, doubles all of them.
_ESCAPE: Final = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
_LONGEST_ESCAPE: Final = 6
# Most events of a file are operators, Python frames, calls and arrows between them. Kineto writes these keys first.
# Neither pattern can match inside a string, because a quote in a string is escaped.
_UNWANTED: Final = re.compile(
    r'\{\s*"ph":\s*"(?:[^"X]"|X",\s*"cat":\s*"'
    r"(?:cpu_op|Operator|python_function|user_annotation|gpu_user_annotation|cuda_runtime|cuda_driver|Runtime|overhead)"
    r'",\s*"name":\s*"(?!ProfilerStep#)(?![^"]*DataLoader))'
)
# The first brace behind which a list goes on or ends is the item's own end if an event that begins like all others
# follows; the group tells. Anything else (a brace in a text, an event with its keys in another order) is decoded.
_NEXT_EVENT: Final = re.compile(r'\}\s*(?:,\s*(?=(\{\s*"ph":))|[,\]])')

Repair = Callable[[Iterator[str]], Iterator[str]]


class KinetoEvent(NamedTuple):
    """One event, from a file or from this process. Times are in ns, from any common origin."""

    category: str  # kernel, gpu_memcpy, gpu_memset, user_annotation, cpu_op, … in any case
    name: str
    start_ns: float
    duration_ns: float
    device: str | int | None = None
    size_bytes: int = 0


def from_events(events: Iterable[KinetoEvent]) -> Timeline:
    builder = KinetoTimeline()
    for event in events:
        builder.add(event)
    return builder.finish()


class KinetoTimeline:
    def __init__(self) -> None:
        self._timeline = Timeline("kineto")
        # ProfilerStep#N is not unique within a file: a step is its name and its start.
        self._steps: dict[tuple[str, float], Step] = {}
        self._twins: dict[str, dict[str, Step]] = {}

    def add(self, event: KinetoEvent) -> None:
        category = event.category.lower()
        category = _OLD_CATEGORIES.get(category, category)
        end_ns = event.start_ns + max(0.0, event.duration_ns)
        if category in _DEVICE_CATEGORIES:
            self._add_device_event(category, event, end_ns)
        elif category.startswith("gpu"):
            self._add_twin(event, end_ns)
        elif event.name.startswith("ProfilerStep#"):
            self._steps[event.name, event.start_ns] = Step(event.start_ns, end_ns)
        elif "DataLoader" in event.name and "__next__" in event.name:
            self._timeline.waits.add(event.start_ns, end_ns)

    def _add_twin(self, event: KinetoEvent, end_ns: float) -> None:
        """gpu_user_annotation: where on the device the work of a step of the host's ran, once for each stream."""
        if event.name.startswith("ProfilerStep#"):
            twins = self._twins.setdefault(f"GPU:{event.device}", {})
            known = twins.get(event.name, Step(event.start_ns, end_ns))
            twins[event.name] = Step(min(known.start_ns, event.start_ns), max(known.end_ns, end_ns))

    def finish(self) -> Timeline:
        for name, twins in self._twins.items():
            self._timeline.device(name).steps = _whole_steps(list(twins.values()))
        steps = [step for step in self._steps.values() if step.end_ns > step.start_ns]
        self._timeline.host_steps = sorted(steps, key=lambda step: step.start_ns)
        return self._timeline

    def _add_device_event(self, category: str, event: KinetoEvent, end_ns: float) -> None:
        device = self._timeline.device(f"GPU:{event.device}")
        if category == "kernel":
            device.kernels.add(event.start_ns, end_ns)
        elif category == "gpu_memcpy" and any(word in event.name for word in _TO_DEVICE):
            device.h2d.add(event.start_ns, end_ns, event.size_bytes, _kind(event.name))
        else:
            device.other.add(event.start_ns, end_ns)
            if category == "gpu_memcpy" and any(word in event.name for word in _TO_HOST):
                device.d2h.add(event.start_ns, end_ns, event.size_bytes, UNKNOWN)


def _whole_steps(twins: list[Step]) -> list[Step]:
    """A host that runs ahead is steps away from its device, and a twin ends with its last kernel. So a step of the
    device reaches from one twin to the next; behind the last one nothing tells where it ended.
    """
    ordered = sorted(twins, key=lambda step: step.start_ns)
    if len(ordered) < 2:
        return []
    return [Step(one.start_ns, other.start_ns) for one, other in pairwise(ordered)]


def _kind(name: str) -> str:
    found = _FROM_TO.search(name)
    return stated_kind(found.group(1)) if found else UNKNOWN


@lru_cache(maxsize=256)
def device_category(category: str) -> bool:
    """Cached, because a file has a dozen categories and a million events."""
    return _OLD_CATEGORIES.get(category.lower(), category.lower()) in _DEVICE_CATEGORIES


def interesting(category: str, name: str) -> bool:
    """Whether `add` would keep the event. Most events are operators and Python frames, which it drops."""
    return device_category(category) or name.startswith("ProfilerStep#") or "DataLoader" in name


def read_kineto(source: TraceSource) -> Timeline:
    result = _attempt(source, iter)
    if isinstance(result, TraceError) and _has_backslash(source):
        repaired = _attempt(source, _repair_bad_escapes)
        if isinstance(repaired, TraceError):
            repaired = _attempt(source, _double_backslashes)
        result = result if isinstance(repaired, TraceError) else repaired
    if isinstance(result, TraceError):
        raise result
    return result


def _attempt(source: TraceSource, repair: Repair) -> Timeline | TraceError:
    try:
        return _read(JsonStream(repair(_characters(source)), _UNWANTED, _NEXT_EVENT))
    except TraceError as error:
        return error


def _read(stream: JsonStream) -> Timeline:
    builder = KinetoTimeline()
    origin_us: float | None = None
    for item in stream.events("traceEvents"):
        if not isinstance(item, dict) or item.get("ph") != "X":
            continue
        category, name = item.get("cat"), item.get("name")
        if not isinstance(category, str) or not isinstance(name, str) or not interesting(category, name):
            continue
        start_us, duration_us = _number(item.get("ts")), _number(item.get("dur", 0))
        if start_us is None or duration_us is None:
            continue
        if origin_us is None:
            origin_us = start_us
        builder.add(_event(item, category, name, start_us - origin_us, duration_us))
    return builder.finish()


def _event(item: dict[str, Any], category: str, name: str, start_us: float, duration_us: float) -> KinetoEvent:
    args = item.get("args")
    if not isinstance(args, dict):
        args = {}
    device = args.get("device", item.get("pid"))
    return KinetoEvent(
        category,
        name,
        start_us * NS_PER_US,
        duration_us * NS_PER_US,
        device if isinstance(device, int) else one_line(str(device), 32),
        whole_bytes(args.get("bytes", args.get("Bytes", 0))),
    )


def _number(value: object) -> float | None:
    """µs, given as a number or as its text. None if it is no number or far outside our centuries."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and abs(number) * NS_PER_US < MAX_TIME_NS else None


def _characters(source: TraceSource) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    for piece in source.pieces():
        yield decoder.decode(piece)
    yield decoder.decode(b"", final=True)


def _repair_bad_escapes(pieces: Iterator[str]) -> Iterator[str]:
    held = ""
    for piece in pieces:
        text = held + piece
        # An escape may lie across two pieces: text that may be the beginning of one waits for the next piece.
        cut = len(text)
        tail = text.rfind("\\", max(0, cut - _LONGEST_ESCAPE))
        while tail > 0 and text[tail - 1] == "\\":
            tail -= 1
        cut = cut if tail < 0 else tail
        held = text[cut:]
        yield _ESCAPE.sub(_valid_escape, text[:cut])
    yield _ESCAPE.sub(_valid_escape, held)


def _valid_escape(found: re.Match[str]) -> str:
    return found.group() if found.group(1) else r"\\"


def _double_backslashes(pieces: Iterator[str]) -> Iterator[str]:
    return (piece.replace("\\", r"\\") for piece in pieces)


def _has_backslash(source: TraceSource) -> bool:
    return any(b"\\" in piece for piece in source.pieces())
