"""What the session itself asks about the machine, once per window: the host's CPUs and, where there is one, the GPU."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from feedwatch.measure.clock import Clock
from feedwatch.model.facts import RunFacts
from feedwatch.probe.host import HostProbe
from feedwatch.probe.nvml import NvmlProbe

# CPU use over a few milliseconds (the last digest comes right behind the last window) says nothing.
FIRST_SAMPLE_SECONDS: Final = 0.5
# Looking through all processes for ours takes 2-3 ms of CPU (measured): often enough for a figure that changes slowly.
SAMPLE_SECONDS: Final = 2.0


class Machine:
    """Nothing is alive before `start`; `read` runs on the sink's thread."""

    def __init__(self, run: RunFacts, note: Callable[[str], None], clock: Clock) -> None:
        self._note = note
        self._clock = clock
        self._host = HostProbe()
        self._sampled_ns = 0
        self._pause_s = FIRST_SAMPLE_SECONDS
        self._nvml = NvmlProbe(_index(run.device)) if run.device_kind == "cuda" else None

    def start(self) -> Mapping[str, Any]:
        """What is known at once (CPU budget, memory); use is known from the second sample on."""
        first = self._host.sample()
        self._sampled_ns = self._clock.now_ns()
        if self._nvml is not None:
            self._nvml.start()
        return {"host": first}

    def warm(self) -> bool:
        """Tracing and imports are over: CPU use is counted from here. Once, on the sink's thread."""
        self._host.sample()
        self._sampled_ns = self._clock.now_ns()
        return False

    def read(self) -> Mapping[str, Any]:
        seen: dict[str, Any] = {}
        now_ns = self._clock.now_ns()
        if now_ns - self._sampled_ns >= self._pause_s * 1e9:
            self._sampled_ns, self._pause_s = now_ns, SAMPLE_SECONDS
            seen["host"] = self._host.sample()
        if self._nvml is not None:
            seen["device"] = self._nvml.facts()  # None again when the GPU is lost: unknown, not the last known
            for note in self._nvml.notes:
                self._note(note)
        return seen

    def ending(self) -> None:
        """A short run is better described by its end than by its start, which is full of imports and tracing."""
        self._pause_s = FIRST_SAMPLE_SECONDS

    def stop(self) -> None:
        if self._nvml is not None:
            self._nvml.stop()


def _index(device: str) -> int:
    """The framework's own number: `cuda:1 (NVIDIA A10G)`, `/device:GPU:1`."""
    found = re.search(r":(\d+)", device)
    return int(found.group(1)) if found else 0
