"""Finds the GPU that a process uses, and reads it once. Read-only; each value that cannot be had is None."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import pynvml

T = TypeVar("T")

GB_PER_KB: Final = 1e-6

# Reasons that say the device is held back; idling and a chosen application clock are not among them.
_THROTTLE_REASONS: Final = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "too hot (software)",
    0x40: "too hot (hardware)",
    0x80: "power brake",
}


class NoDeviceError(Exception):
    """Which GPU this process uses cannot be told; the text says why."""


@dataclass(frozen=True, slots=True)
class DeviceHandles:
    device: Any  # a MIG slice or a whole GPU
    board: Any  # the GPU that has the PCIe link: the same, except for a MIG slice


@dataclass(frozen=True, slots=True)
class NvmlSample:
    utilisation: float | None
    memory_used_bytes: int | None
    memory_total_bytes: int | None
    pcie_rx_gb_per_s: float | None
    pcie_generation: int | None
    pcie_width: int | None
    throttle_reasons: tuple[str, ...]


def visible_tokens(environ: Mapping[str, str]) -> list[str] | None:
    """CUDA's own reading: the list ends at the first entry that names nothing. None: no restriction."""
    value = environ.get("CUDA_VISIBLE_DEVICES")
    if value is None:
        return None
    tokens: list[str] = []
    for token in (part.strip() for part in value.split(",")):
        if not (token.isdigit() or token.startswith(("GPU-", "MIG-"))):
            break
        tokens.append(token)
    return tokens


def find_device(index: int, environ: Mapping[str, str], pci_bus_id: str | None = None) -> DeviceHandles:
    """The framework's device `index`, as NVML knows it: by bus id where the framework tells, else by environment."""
    if pci_bus_id is not None:
        return _whole(pynvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id.encode()))
    tokens = visible_tokens(environ)
    if tokens is None:
        return _by_position(index, environ)
    if index >= len(tokens):
        raise NoDeviceError(f"CUDA_VISIBLE_DEVICES shows {len(tokens)} device(s), number {index} is not among them")
    token = tokens[index]
    if token.isdigit():
        return _by_position(int(token), environ)
    return _mig_slice(token) if token.startswith("MIG-") else _by_uuid(token)


def _by_position(position: int, environ: Mapping[str, str]) -> DeviceHandles:
    handles = _all_handles()
    if position >= len(handles):
        raise NoDeviceError(f"NVML shows {len(handles)} GPU(s), number {position} is not among them")
    # NVML counts by bus, CUDA by speed unless told otherwise: the two agree for sure only among equals.
    if environ.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID" and len({_name(handle) for handle in handles}) > 1:
        raise NoDeviceError("GPUs of different models and no CUDA_DEVICE_ORDER=PCI_BUS_ID: which is used is unknown")
    return _whole(handles[position])


def _by_uuid(prefix: str) -> DeviceHandles:
    """CUDA takes any beginning of a UUID that is unique."""
    matches = [handle for handle in _all_handles() if _text(pynvml.nvmlDeviceGetUUID(handle)).startswith(prefix)]
    if len(matches) != 1:
        raise NoDeviceError(f"{len(matches)} GPUs match {prefix} of CUDA_VISIBLE_DEVICES")
    return _whole(matches[0])


def _mig_slice(token: str) -> DeviceHandles:
    if token.startswith("MIG-GPU-"):  # the form of early drivers: MIG-GPU-<uuid>/<instance>/<compute instance>
        board = _by_uuid(token.removeprefix("MIG-").split("/")[0]).board
        return DeviceHandles(device=None, board=board)
    device = pynvml.nvmlDeviceGetHandleByUUID(token.encode())
    return DeviceHandles(device, pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device))


def _whole(handle: Any) -> DeviceHandles:
    return DeviceHandles(handle, handle)


def _all_handles() -> list[Any]:
    return [pynvml.nvmlDeviceGetHandleByIndex(position) for position in range(pynvml.nvmlDeviceGetCount())]


def read_device(handles: DeviceHandles, refused: Callable[[str, Exception], None]) -> NvmlSample:
    """`refused` hears of each value that NVML does not give. A lost GPU raises: there is nothing left to ask."""
    ask = _Asker(refused)
    rates = ask("utilisation", pynvml.nvmlDeviceGetUtilizationRates, handles.device)
    memory = ask("memory", pynvml.nvmlDeviceGetMemoryInfo, handles.device)
    counter = pynvml.NVML_PCIE_UTIL_RX_BYTES
    rx_kb_per_s = ask("PCIe throughput", pynvml.nvmlDeviceGetPcieThroughput, handles.board, counter)
    reasons = ask("throttling", pynvml.nvmlDeviceGetCurrentClocksThrottleReasons, handles.board)
    return NvmlSample(
        utilisation=None if rates is None else rates.gpu / 100,
        memory_used_bytes=None if memory is None else int(memory.used),
        memory_total_bytes=None if memory is None or not memory.total else int(memory.total),
        pcie_rx_gb_per_s=None if rx_kb_per_s is None else rx_kb_per_s * GB_PER_KB,
        pcie_generation=ask("PCIe generation", pynvml.nvmlDeviceGetCurrPcieLinkGeneration, handles.board),
        pcie_width=ask("PCIe width", pynvml.nvmlDeviceGetCurrPcieLinkWidth, handles.board),
        throttle_reasons=tuple(text for bit, text in _THROTTLE_REASONS.items() if (reasons or 0) & bit),
    )


def read_constants(
    handles: DeviceHandles, refused: Callable[[str, Exception], None]
) -> tuple[str | None, int | None, int | None]:
    """Name, and generation and width of the link at most."""
    ask = _Asker(refused)
    name = ask("name", pynvml.nvmlDeviceGetName, handles.board if handles.device is None else handles.device)
    generation = ask("PCIe generation at most", pynvml.nvmlDeviceGetMaxPcieLinkGeneration, handles.board)
    width = ask("PCIe width at most", pynvml.nvmlDeviceGetMaxPcieLinkWidth, handles.board)
    return None if name is None else _text(name), generation, width


class _Asker:
    def __init__(self, refused: Callable[[str, Exception], None]) -> None:
        self._refused = refused

    def __call__(self, what: str, call: Callable[..., T], handle: Any, *args: Any) -> T | None:
        if handle is None:
            self._refused(what, NoDeviceError("not available for this MIG slice"))
            return None
        try:
            return call(handle, *args)
        except pynvml.NVMLError as error:
            if error.value in (pynvml.NVML_ERROR_GPU_IS_LOST, pynvml.NVML_ERROR_RESET_REQUIRED):
                raise
            self._refused(what, error)
            return None


def _name(handle: Any) -> str:
    return _text(pynvml.nvmlDeviceGetName(handle))


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
