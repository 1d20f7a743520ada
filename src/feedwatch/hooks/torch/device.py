"""The device a torch model trains on: what it is, its clock, and the training steps on that clock."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

import torch

from feedwatch.hooks.torch.syncs import Syncs
from feedwatch.model.steps import StepRecord

# -- what it is -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeviceDescription:
    kind: str  # cpu | cuda | rocm | xpu | mps | tpu
    shown: str  # cpu, cuda:0 (NVIDIA A10G)
    name: str | None = None
    tensor_cores: bool | None = None


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
    return DeviceDescription(kind, f"{device} ({properties.name})", str(properties.name), cores)


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


class Categories(NamedTuple):
    """The numbers that the hook's ledger uses."""

    other: int
    wait: int
    copy: int
    compute: int
    apart: int  # validation: not part of the step


class _Pending(NamedTuple):
    row: StepRecord
    events: list[Any]  # the last one is the first of the next step
    categories: list[int]
    host_ns: list[int]
    owns_last: bool  # the step ends an epoch


class DeviceMeter:
    """The marks of a step as timing events, read when the device has passed them.

    Nothing is enqueued between the mark before a fetch and the one after it: what lies between them on the device is
    exactly the part of the wait in which it had run dry. Everything here runs on the training thread; nothing waits.
    """

    def __init__(
        self,
        clock: DeviceClock,
        categories: Categories,
        emit: Callable[[StepRecord], None],
        now_ns: Callable[[], int],
    ) -> None:
        self._clock, self._of, self._emit, self._now_ns = clock, categories, emit, now_ns
        self.syncs = Syncs(categories.other, categories.compute, categories.wait)
        self.dropped = 0
        self._pool: list[Any] = []
        self._pending: deque[_Pending] = deque()
        self._row: StepRecord | None = None
        self._whole = True
        self._events: list[Any] = []
        self._categories: list[int] = []
        self._host_ns: list[int] = []

    # -- marks ------------------------------------------------------------------------------------------

    def mark(self, category: int) -> None:
        """From here on, `category`."""
        if self._clock.capturing():
            self._whole = False
            return
        event = self._pool.pop() if self._pool else self._clock.new()
        self._clock.record(event)
        now_ns = self._now_ns()
        if self._row is not None:
            self._finish(event, now_ns, owns_last=False)
        self._events.append(event)
        self._categories.append(category)
        self._host_ns.append(now_ns)

    def step_begin(self) -> None:
        """Between two steps: the one place where finished events are read."""
        self._read(READ_PER_STEP)

    def step_end(self, row: StepRecord) -> None:
        """The next mark ends this step on the device."""
        self._row = row

    def epoch_end(self) -> None:
        """The last step of an epoch has no next one; a step that was not trained is forgotten."""
        if self._row is not None and not self._clock.capturing():
            event = self._pool.pop() if self._pool else self._clock.new()
            self._clock.record(event)
            self._finish(event, self._now_ns(), owns_last=True)
        self._row = None
        self._pool += self._events
        self._events, self._categories, self._host_ns = [], [], []

    def close(self) -> None:
        """No waiting at the end either: what the device has not passed by now is dropped and counted."""
        self._read(MAX_PENDING)
        self.dropped += len(self._pending)
        self._pending.clear()

    # -- reading ----------------------------------------------------------------------------------------

    def _finish(self, last: Any, last_ns: int, *, owns_last: bool) -> None:
        row, self._row = self._row, None
        assert row is not None
        step = _Pending(row, [*self._events, last], self._categories, [*self._host_ns, last_ns], owns_last)
        self._events, self._categories, self._host_ns = [], [], []
        whole, self._whole = self._whole, True
        if whole and len(self._pending) < MAX_PENDING:
            self._pending.append(step)
        else:
            self.dropped += 1
            self.syncs.interrupted()
            self._release(step)

    def _read(self, limit: int) -> None:
        while self._pending and limit and self._clock.done(self._pending[0].events[-1]):
            step = self._pending.popleft()
            self._emit(self._measured(step))
            self._release(step)
            limit -= 1

    def _measured(self, step: _Pending) -> StepRecord:
        spent: dict[int, float] = {}
        passed_ns: list[float] = [0.0]
        for at, category in enumerate(step.categories):
            elapsed_ns = max(0.0, self._clock.elapsed_ns(step.events[at], step.events[at + 1]))
            spent[category] = spent.get(category, 0.0) + elapsed_ns
            passed_ns.append(passed_ns[-1] + elapsed_ns)
        self.syncs.add(step.categories, step.host_ns, passed_ns)
        if step.owns_last:
            self.syncs.interrupted()
        of, row = self._of, step.row
        starved_ns = round(spent.get(of.wait, 0.0))
        return row._replace(
            wall_ns=round(passed_ns[-1] - spent.get(of.apart, 0.0)),
            input_wait_ns=None if row.input_wait_ns is None else starved_ns,
            h2d_ns=None if row.h2d_ns is None else round(spent.get(of.copy, 0.0)),
            compute_ns=None if row.compute_ns is None else round(spent.get(of.compute, 0.0)),
            starved_ns=None if row.input_wait_ns is None else starved_ns,
            host_wait_ns=row.input_wait_ns,
        )

    def _release(self, step: _Pending) -> None:
        self._pool += step.events if step.owns_last else step.events[:-1]
