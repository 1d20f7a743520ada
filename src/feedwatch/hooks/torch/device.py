"""The device a torch model trains on, as plain values."""

from dataclasses import dataclass
from typing import Any

import torch


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
