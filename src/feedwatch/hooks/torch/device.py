"""The device a torch model trains on: what it is, its clock, and the training steps on that clock."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

import torch

from feedwatch.hooks.torch.syncs import Syncs
from feedwatch.measure.marks import COMPUTE, DEVICE, FIRST_NAMED, H2D, INPUT, OTHER, VALIDATION, DeviceTimes, Mark

# -- what it is -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeviceDescription:
    kind: str  # cpu | cuda | rocm | xpu | mps | tpu
    shown: str  # cpu, cuda:0 (NVIDIA A10G)
    name: str | None = None
    tensor_cores: bool | None = None
    id: str | None = None  # as NVML knows it


def describe_device(device: Any) -> DeviceDescription:
    """Asks only what torch has cached: no allocation, no synchronisation."""
    kind = str(getattr(device, "type", "cpu"))
    if kind == "xla":
        return DeviceDescription("tpu", str(device))
    if kind == "cuda":
        return _cuda(device)
    if kind == "xpu":
        name = str(torch.xpu.get_device_name(device))
        return DeviceDescription("xpu", f"{device} ({name})", name)
    return DeviceDescription(kind, str(device))


def _cuda(device: Any) -> DeviceDescription:
    properties = torch.cuda.get_device_properties(device)
    kind = "rocm" if getattr(torch.version, "hip", None) else "cuda"
    # Tensor cores came with compute capability 7.0; ROCm's numbers mean something else.
    cores = properties.major >= 7 if kind == "cuda" else None
    return DeviceDescription(kind, f"{device} ({properties.name})", str(properties.name), cores, gpu_id(properties))


def gpu_id(properties: Any) -> str | None:
    """torch tells a GPU's UUID since 2.5, without NVML's prefix."""
    uuid = getattr(properties, "uuid", None)
    return None if uuid is None else f"GPU-{uuid}"


# -- its clock --------------------------------------------------------------------------------------


class DeviceClock(Protocol):
    """Timing events in the stream that the work goes to.

    An event's time is the later of its enqueueing and the end of all earlier work in its stream. Recording never
    waits, and neither does the question whether an event has passed.
    """

    def new(self) -> Any:
        """An event, to be recorded again and again."""
        ...

    def record(self, event: Any) -> None: ...

    def done(self, event: Any) -> bool:
        """Has the device passed it? Never waits."""
        ...

    def elapsed_ns(self, earlier: Any, later: Any) -> float:
        """Both must be done."""
        ...

    def capturing(self) -> bool:
        """Inside a graph capture a record would become part of the graph."""
        ...


class TorchEventClock:
    """CUDA (and ROCm) and XPU. Not MPS: its query commits the command buffer and waits."""

    def __init__(self, kind: str) -> None:
        module = torch.cuda if kind == "cuda" else torch.xpu
        self._event: Callable[..., Any] = module.Event
        self._is_capturing: Callable[[], bool] | None = getattr(module, "is_current_stream_capturing", None)

    def new(self) -> Any:
        return self._event(enable_timing=True)

    def record(self, event: Any) -> None:
        event.record()

    def done(self, event: Any) -> bool:
        return bool(event.query())

    def elapsed_ns(self, earlier: Any, later: Any) -> float:
        return float(earlier.elapsed_time(later)) * 1e6

    def capturing(self) -> bool:
        return self._is_capturing is not None and self._is_capturing()


def device_clock(device: Any) -> DeviceClock | None:
    """None where the device has no clock that can be read without waiting: CPU, MPS, TPU."""
    kind = str(getattr(device, "type", "cpu"))
    return TorchEventClock(kind) if kind in ("cuda", "xpu") else None


# -- the steps on its clock -------------------------------------------------------------------------

# A host can be ahead by about a thousand launches, far fewer steps than this.
MAX_PENDING: Final = 256
# Reading a step costs a few microseconds: a backlog is worked off over several steps.
READ_PER_STEP: Final = 4
_OPENING: Final = (INPUT, COMPUTE)  # the engine opens a step with these, see measure/steps.py


class _Pending(NamedTuple):
    """A step whose events the device has not passed yet."""

    first_ns: int
    events: list[Any]  # the last one is the first of the next step
    categories: list[int]
    host_ns: list[int]
    owns_last: bool  # the step ends an epoch


class DeviceMeter:
    """The marks of a step as timing events, read when the device has passed them, and handed over as a DEVICE mark.

    Nothing is enqueued between the mark before a fetch and the one after it: what lies between them on the device is
    exactly the part of the wait in which it had run dry. Everything but `read_syncs` runs on the training thread, and
    nothing waits. A hook calls `enter` and `leave` with the times of its own marks.
    """

    def __init__(self, clock: DeviceClock, append: Callable[[Mark], None], now_ns: Callable[[], int]) -> None:
        self._clock, self._append, self._now_ns = clock, append, now_ns
        self._syncs = Syncs(OTHER, COMPUTE, INPUT)
        self._for_syncs: deque[tuple[list[int], list[int], list[float]] | None] = deque(maxlen=16 * MAX_PENDING)
        self._pool: list[Any] = []
        self._pending: deque[_Pending] = deque()
        self._stack: list[int] = []
        self._open = self._trained = self._closing = False
        self._whole = self._closing_whole = True
        self._first_ns = self._closing_ns = 0
        self._events: list[Any] = []
        self._categories: list[int] = []
        self._host_ns: list[int] = []

    # -- marks -----------------------------------------------------------------------------------

    def enter(self, category: int, ns: int) -> None:
        """`ns`: the time of the ENTER mark."""
        if category in _OPENING and (self._trained or not self._open):
            self._begin(ns)
        if self._open:
            self._stack.append(category)
            self._mark(category, ns)

    def leave(self, category: int, ns: int) -> None:
        stack = self._stack
        if self._open and stack and stack[-1] == category:
            stack.pop()
            self._mark(stack[-1] if stack else OTHER, ns)

    def again(self, ns: int) -> None:
        """A mark in the middle of what the thread is doing, for instance before backward: only with it can a read of
        the loss be told from a long step.
        """
        if self._open and self._stack:
            self._mark(self._stack[-1], ns)

    def trained(self) -> None:
        self._trained = self._open

    def epoch_end(self, ns: int) -> None:
        """The last step of an epoch has no next one. A step that was not trained is forgotten."""
        if self._open and self._trained and not self._clock.capturing():
            self._closing_ns, self._closing_whole = self._first_ns, self._whole
            self._finish(self._recorded(), ns, owns_last=True)
        self._pool += self._events
        self._events, self._categories, self._host_ns = [], [], []
        self._stack.clear()
        self._open = self._trained = self._closing = False
        self._whole = True

    def close(self) -> None:
        """No waiting at the end either. The engine counts the steps that the device has not passed by now."""
        self._read(MAX_PENDING)
        self._pending.clear()

    # -- steps -----------------------------------------------------------------------------------

    def _begin(self, ns: int) -> None:
        """Between two steps: the one place where finished events are read. The next mark ends the step before."""
        self._closing, self._closing_ns, self._closing_whole = self._open, self._first_ns, self._whole
        self._open, self._trained, self._whole, self._first_ns = True, False, True, ns
        self._stack.clear()
        self._read(READ_PER_STEP)

    def _mark(self, category: int, ns: int) -> None:
        """From here on, `category`."""
        if self._clock.capturing():
            self._whole = False
            return
        event = self._recorded()
        if self._closing:
            self._finish(event, ns, owns_last=False)
        self._events.append(event)
        self._categories.append(category)
        self._host_ns.append(ns)

    def _recorded(self) -> Any:
        event = self._pool.pop() if self._pool else self._clock.new()
        self._clock.record(event)
        return event

    def _finish(self, last: Any, last_ns: int, *, owns_last: bool) -> None:
        self._closing = False
        events, host_ns = [*self._events, last], [*self._host_ns, last_ns]
        step = _Pending(self._closing_ns, events, self._categories, host_ns, owns_last)
        self._events, self._categories, self._host_ns = [], [], []
        if self._closing_whole and len(self._pending) < MAX_PENDING:
            self._pending.append(step)
        else:
            self._for_syncs.append(None)
            self._release(step)

    def _release(self, step: _Pending) -> None:
        self._pool += step.events if step.owns_last else step.events[:-1]

    # -- reading ---------------------------------------------------------------------------------

    def _read(self, limit: int) -> None:
        while self._pending and limit and self._clock.done(self._pending[0].events[-1]):
            step = self._pending.popleft()
            self._append((self._now_ns(), DEVICE, self._measured(step)))
            self._release(step)
            limit -= 1

    def _measured(self, step: _Pending) -> DeviceTimes:
        spent = [0.0] * FIRST_NAMED
        passed_ns = [0.0]
        for at, category in enumerate(step.categories):
            elapsed_ns = max(0.0, self._clock.elapsed_ns(step.events[at], step.events[at + 1]))
            spent[category] += elapsed_ns
            passed_ns.append(passed_ns[-1] + elapsed_ns)
        self._for_syncs.append((step.categories, step.host_ns, passed_ns))
        if step.owns_last:
            self._for_syncs.append(None)
        return DeviceTimes(
            step.first_ns,
            round(passed_ns[-1] - spent[VALIDATION]),
            round(spent[INPUT]),
            round(spent[H2D]),
            round(spent[COMPUTE]),
        )

    # -- the sink's thread -----------------------------------------------------------------------

    def read_syncs(self) -> int | None:
        """The category in which the host waits for the device in nearly every step, or None."""
        while self._for_syncs:
            step = self._for_syncs.popleft()
            if step is None:
                self._syncs.interrupted()
            else:
                self._syncs.add(*step)
        return self._syncs.place
