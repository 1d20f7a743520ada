"""The device a torch model trains on: what it is, how full it is, and its clock."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol

import torch

from feedwatch.model.facts import has_tensor_cores
from feedwatch.probe.device_memory import DeviceMemory

# No timing events, or none that can be asked without waiting.
_WITHOUT_CLOCK: Final = ("cpu", "mps", "xla", "meta")

# -- what it is -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeviceDescription:
    kind: str  # cpu | cuda | rocm | xpu | mps | tpu, or torch's own word for another accelerator
    shown: str  # cpu, cuda:0 (NVIDIA A10G)
    name: str | None = None
    tensor_cores: bool | None = None
    id: str | None = None  # as NVML knows it
    capability: tuple[int, int] | None = None  # CUDA only: what its units can compute with
    tf32: bool | None = None  # float32 matrix products run on tensor cores


def describe_device(device: Any) -> DeviceDescription:
    """Asks only what torch has cached: no allocation, no synchronisation."""
    kind = str(getattr(device, "type", "cpu"))
    if kind == "xla":
        return DeviceDescription("tpu", str(device))
    if kind == "cuda":
        return _cuda(device)
    if kind in ("cpu", "mps", "meta"):
        return DeviceDescription(kind, str(device))
    name = _name(device)
    return DeviceDescription(kind, str(device) if name is None else f"{device} ({name})", name)


def is_there(device: torch.device) -> bool:
    """Whether this machine has it, as far as torch can tell."""
    module: Any = getattr(torch, device.type, None)
    if device.type in ("cpu", "meta") or not hasattr(module, "is_available"):
        return True
    return bool(module.is_available()) and (device.index or 0) < module.device_count()


def _cuda(device: Any) -> DeviceDescription:
    properties = torch.cuda.get_device_properties(device)
    # ROCm's numbers mean something else.
    rocm = bool(getattr(torch.version, "hip", None))
    capability = None if rocm else (int(properties.major), int(properties.minor))
    name = str(properties.name)
    return DeviceDescription(
        kind="rocm" if rocm else "cuda",
        shown=f"{device} ({name})",
        name=name,
        tensor_cores=None if capability is None else has_tensor_cores(name, capability),
        id=gpu_id(properties),
        capability=capability,
        tf32=None if rocm else bool(torch.backends.cuda.matmul.allow_tf32),
    )


def gpu_id(properties: Any) -> str | None:
    """torch tells a GPU's UUID since 2.5, without NVML's prefix; before that, or without one, its place on the bus."""
    uuid = getattr(properties, "uuid", None)
    if uuid is not None:
        return f"GPU-{uuid}"
    places = [getattr(properties, f"pci_{part}_id", None) for part in ("domain", "bus", "device")]
    known = [place for place in places if place is not None]
    return "{:08x}:{:02x}:{:02x}.0".format(*known) if len(known) == 3 else None


def _name(device: Any) -> str | None:
    try:
        return str(getattr(torch, device.type).get_device_name(device))
    except Exception:
        return None  # a backend need not have a name for its devices


def memory_of(device: Any) -> Callable[[], DeviceMemory | None] | None:
    """What torch's allocator holds and what of it tensors use; it keeps what they free. None: it does not tell."""
    kind = str(getattr(device, "type", "cpu"))
    module = None if kind in _WITHOUT_CLOCK else getattr(torch, kind, None)
    if module is None or not hasattr(module, "memory_reserved"):
        return None
    capturing = getattr(module, "is_current_stream_capturing", bool)

    def read() -> DeviceMemory | None:
        if capturing():
            return None
        used, held = int(module.memory_allocated(device)), int(module.memory_reserved(device))
        if kind == "cuda" and not getattr(torch.version, "hip", None):
            return DeviceMemory(used, held)  # NVML knows the rest without a question to the device
        free, total = module.mem_get_info(device)
        return DeviceMemory(used, held, int(total), int(free))

    return read


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

    @property
    def capturing(self) -> Callable[[], bool]:
        """Inside a graph capture a record would become part of the graph."""
        ...


class TorchEventClock:
    """Any accelerator of torch: CUDA, ROCm, XPU and backends of others. Not MPS: its query commits the command buffer
    and waits.

    Events go to the stream that is current on the run's own device, which need not be the current device.
    """

    def __init__(self, device: "torch.device") -> None:
        module = getattr(torch, device.type)
        self._index = int(module.current_device() if device.index is None else device.index)
        if hasattr(torch, "accelerator"):
            self._event: Callable[..., Any] = partial(torch.Event, device=torch.device(device.type, self._index))
            self._stream: Callable[[Any], Any] = torch.accelerator.current_stream
            self._current: Callable[[], int] = torch.accelerator.current_device_index
        else:  # until torch 2.5 every kind of device had its own
            self._event, self._stream, self._current = module.Event, module.current_stream, module.current_device
        self.capturing: Callable[[], bool] = getattr(module, "is_current_stream_capturing", bool)

    def new(self) -> Any:
        return self._event(enable_timing=True)

    def record(self, event: Any) -> None:
        if self._current() == self._index:
            event.record()  # the current stream of the current device; a stream as an object costs another microsecond
        else:
            event.record(self._stream(self._index))

    def done(self, event: Any) -> bool:
        return bool(event.query())

    def elapsed_ns(self, earlier: Any, later: Any) -> float:
        return float(earlier.elapsed_time(later)) * 1e6


def device_clock(device: Any) -> DeviceClock | None:
    """None where the device has no clock that can be read without waiting: CPU, MPS, TPU."""
    kind = str(getattr(device, "type", "cpu"))
    if kind in _WITHOUT_CLOCK:
        return None
    try:
        return TorchEventClock(device)
    except (AttributeError, RuntimeError):
        return None  # a backend without streams or events
