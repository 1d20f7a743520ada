"""What a reader hands to the analysis: plain columns of nanoseconds, relative to the file's own start."""

from array import array
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from feedwatch.errors import TraceError
from feedwatch.probe.traces.intervals import Spans

# Real clocks count from 1970 or from boot; what lies outside a few centuries or lasts for months is damage.
MAX_TIME_NS: Final = 1e19
MAX_DURATION_NS: Final = 1e16
MAX_BYTES: Final = 1 << 44
MAX_DEVICES: Final = 1024


class Step(NamedTuple):
    start_ns: float
    end_ns: float
    group: int | None = None


class Copies:
    """Host-to-device copies, in columns. A kind of None: the file does not say."""

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
    other: Spans = field(default_factory=Spans)  # memsets, and copies in other directions; those of d2h too
    h2d: Copies = field(default_factory=Copies)
    d2h: Copies = field(default_factory=Copies)  # back to the host: what an operation on the CPU asks for
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
    copies_as_kernels: bool = False  # AMD: a blit kernel copies, and nothing tells which way
    errors: list[str] = field(default_factory=list)  # the profiler's own words
    problems: list[str] = field(default_factory=list)

    def device(self, name: str) -> DeviceTimeline:
        found = self.devices.get(name)
        if found is None:
            if len(self.devices) >= MAX_DEVICES:
                raise TraceError(f"names more than {MAX_DEVICES} devices")
            found = self.devices[name] = DeviceTimeline()
        return found


def whole_bytes(value: object) -> int:
    """A byte count from a file that may say anything."""
    try:
        size = int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return 0
    return size if 0 <= size < MAX_BYTES else 0


def one_line(text: str, limit: int = 200) -> str:
    """Text from a file, fit for one line of a terminal: no control characters, no novel."""
    printable = "".join(char if char.isprintable() else " " for char in text[: 4 * limit])
    flat = " ".join(printable.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
