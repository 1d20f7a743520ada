"""The device under test: work of a known length on it, and its own clock."""

import time
from collections.abc import Callable
from typing import Any, Final

import torch

from feedwatch.hooks.torch.device import DeviceClock, DeviceDescription, describe_device, device_clock

CALIBRATING_CYCLES: Final = 20_000_000
_SIDE: Final = 1024  # of the matrices, where nothing on the device can sleep


class Bench:
    def __init__(self, device: str | None = None) -> None:
        """Without `device`: torch's accelerator if there is one, else the CPU."""
        found = torch.device(device or _default())
        module = None if found.type == "cpu" else getattr(torch, found.type)
        self.index: int = 0 if module is None else int(module.current_device() if found.index is None else found.index)
        self.device = found if module is None else torch.device(found.type, self.index)
        self.description: DeviceDescription = describe_device(self.device)
        self.clock: DeviceClock | None = device_clock(self.device)
        self._module: Any = module
        self._work: Callable[[float], None] = self._find_work()

    @property
    def on_cpu(self) -> bool:
        return str(self.device.type) == "cpu"

    def kernel(self, duration_ms: float) -> None:
        """Occupies the device for so long. The host goes on at once; on a CPU it is the host that works."""
        self._work(duration_ms)

    def synchronise(self) -> None:
        if self._module is not None:
            self._module.synchronize(self.device)

    def memory_bytes(self) -> int | None:
        """Of the whole device, as torch tells it."""
        properties = getattr(self._module, "get_device_properties", None)
        return None if properties is None else int(properties(self.device).total_memory)

    def span_ms(self, work: Callable[[], object]) -> float:
        """How long the device takes for it, by its own clock."""
        assert self.clock is not None
        begin, end = self.clock.new(), self.clock.new()
        self.synchronise()
        self.clock.record(begin)
        work()
        self.clock.record(end)
        self.synchronise()
        return self.clock.elapsed_ns(begin, end) / 1e6

    def _find_work(self) -> Callable[[float], None]:
        if self.on_cpu:
            return lambda duration_ms: time.sleep(duration_ms / 1e3)
        if hasattr(self._module, "kernel"):  # the emulated device of the tests
            return lambda duration_ms: self._module.kernel(duration_ms, "selftest", self.device)
        if hasattr(self._module, "_sleep"):  # CUDA: a kernel that counts cycles
            return self._sleep_cycles()
        return self._multiply()

    def _sleep_cycles(self) -> Callable[[float], None]:
        sleep = self._module._sleep
        with self._module.device(self.device):
            self.span_ms(lambda: sleep(CALIBRATING_CYCLES))
            per_ms = CALIBRATING_CYCLES / self.span_ms(lambda: sleep(CALIBRATING_CYCLES))
        return lambda duration_ms: sleep(int(duration_ms * per_ms))

    def _multiply(self) -> Callable[[float], None]:
        matrix = torch.ones(_SIDE, _SIDE, device=self.device)

        def multiply(times: int) -> None:
            for _ in range(times):
                torch.mm(matrix, matrix)

        multiply(10)
        each_ms = self.span_ms(lambda: multiply(20)) / 20
        return lambda duration_ms: multiply(max(1, round(duration_ms / each_ms)))


def _default() -> str:
    if hasattr(torch, "accelerator"):
        found = torch.accelerator.current_accelerator()
        return "cpu" if found is None or not torch.accelerator.is_available() else str(found.type)
    return "cuda" if torch.cuda.is_available() else "cpu"
