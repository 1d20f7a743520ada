"""Reads a Kineto trace file: JSON in Chrome's trace format, plain or compressed."""

import codecs
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from feedwatch.errors import TraceError
from feedwatch.probe.traces.json_stream import JsonStream
from feedwatch.probe.traces.kineto import KinetoEvent, KinetoTimeline, interesting
from feedwatch.probe.traces.source import TraceSource
from feedwatch.probe.traces.timeline import MAX_TIME_NS, Timeline, one_line, whole_bytes

NS_PER_US: Final = 1000.0
# Paths of Windows and names of kernels were written with bare backslashes; first those that cannot be an escape
# are repaired, then (for a path that ends in one) all of them.
_ESCAPE: Final = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
_LONGEST_ESCAPE: Final = 6
# Most of a file are operators, Python frames, calls and arrows between them, written by Kineto with these keys first.
# Neither pattern can match inside a text: a quote in there is escaped.
_UNWANTED: Final = re.compile(
    r'\{\s*"ph":\s*"(?:[^"X]"|X",\s*"cat":\s*"'
    r"(?:cpu_op|Operator|python_function|user_annotation|gpu_user_annotation|cuda_runtime|cuda_driver|Runtime|overhead)"
    r'",\s*"name":\s*"(?!ProfilerStep#)(?![^"]*DataLoader))'
)
_NEXT_EVENT: Final = re.compile(r'\}\s*,\s*(?=\{\s*"ph":)')

Repair = Callable[[Iterator[str]], Iterator[str]]


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
    """µs as a number or its text; what is no time, or none of our centuries, is None."""
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
        # An escape may straddle two pieces: keep back from the last backslash that could begin one.
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
