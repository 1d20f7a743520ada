"""What really happened on the emulated devices, for tests to compare with what was measured.

All times are nanoseconds of `time.perf_counter_ns()`.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Operation:
    """One entry of a stream. `kind` is kernel, copy, event (a record) or wait (for another stream's event)."""

    kind: str
    name: str
    copy: str  # of a copy: pageable_to_device, pinned_to_device, device_to_pageable, on_device, ...
    device: int
    stream: int
    size_bytes: int
    thread: int
    enqueued_ns: int
    start_ns: int
    end_ns: int

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class HostWait:
    """The host stood still. `what` is stream, device, event, copy, item, operator or launch_queue."""

    what: str
    device: int
    stream: int  # -1 is every stream of the device
    thread: int
    begin_ns: int
    end_ns: int

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.begin_ns


@dataclass(frozen=True)
class Counters:
    """Since the last reset, by kind; a kind that never happened is not in its dictionary."""

    waits: dict[str, int]
    copies: dict[str, int]
    copied_bytes: dict[str, int]
    queries: dict[str, int]
    kernels: int
    events: int
    pinned_allocations: int
    pinned_bytes: int
    forbidden_during_capture: int


def counters(raw: dict[str, int]) -> Counters:
    def by_kind(prefix: str) -> dict[str, int]:
        return {name.removeprefix(prefix): count for name, count in raw.items() if name.startswith(prefix)}

    return Counters(
        waits=by_kind("wait."),
        copies=by_kind("copies."),
        copied_bytes=by_kind("bytes."),
        queries=by_kind("query."),
        kernels=raw.get("kernels", 0),
        events=raw.get("events", 0),
        pinned_allocations=raw.get("pinned.allocations", 0),
        pinned_bytes=raw.get("pinned.bytes", 0),
        forbidden_during_capture=raw.get("forbidden_during_capture", 0),
    )


def busy_ns(operations: Iterable[Operation], begin_ns: int, end_ns: int) -> int:
    """How much of this stretch of time was covered by kernels and copies, whichever stream they ran on."""
    covered, reached = 0, begin_ns
    work = (it for it in operations if it.kind in ("kernel", "copy"))
    for operation in sorted(work, key=lambda it: it.start_ns):
        start, end = max(operation.start_ns, reached), min(operation.end_ns, end_ns)
        covered += max(0, end - start)
        reached = max(reached, end)
    return covered
