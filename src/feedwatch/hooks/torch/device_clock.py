"""A clock that ticks on the device: timing events in the stream the work goes to.

An event's time is the later of its enqueueing and the end of all earlier work in its stream. Recording never waits,
and neither does asking whether an event has passed.
"""

from collections.abc import Callable
from typing import Any, Protocol

import torch


class DeviceClock(Protocol):
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
