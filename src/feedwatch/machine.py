"""What the session itself asks about the machine, once per window: the host's CPUs and, where there is one, the GPU."""

import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any, Final, NamedTuple

from feedwatch.measure.clock import Clock
from feedwatch.model.facts import HostFacts, RunFacts
from feedwatch.probe.host import HostProbe
from feedwatch.probe.nvml import NvmlProbe

# CPU use over a few milliseconds (the last digest comes right behind the last window) says nothing.
FIRST_SAMPLE_SECONDS: Final = 0.5
# Looking through all processes for ours takes 2-3 ms of CPU (measured): often enough for a figure that changes slowly.
SAMPLE_SECONDS: Final = 2.0

# Half a minute: long enough to be steady, short enough to follow a run that changes.
RECENT_SAMPLES: Final = 15


class _Use(NamedTuple):
    cpus: float
    machine_share: float | None
    training: bool


class Machine:
    """Nothing is alive before `start`; `read` runs on the sink's thread."""

    def __init__(self, run: RunFacts, note: Callable[[str], None], clock: Clock) -> None:
        self._note = note
        self._clock = clock
        self._host = HostProbe()
        self._sampled_ns = 0
        self._uses: deque[_Use] = deque(maxlen=RECENT_SAMPLES)
        # Training stood still for a while since the last sample: between epochs, in validation, at first while tracing.
        self.paused = True
        self._pause_s = FIRST_SAMPLE_SECONDS
        self._nvml = NvmlProbe(_index(run.device)) if run.device_kind == "cuda" else None

    def start(self) -> Mapping[str, Any]:
        """What is known at once (CPU budget, memory); use is known from the second sample on."""
        first = self._host.sample()
        self._sampled_ns = self._clock.now_ns()
        if self._nvml is not None:
            self._nvml.start()
        return {"host": first}

    def read(self) -> Mapping[str, Any]:
        seen: dict[str, Any] = {}
        now_ns = self._clock.now_ns()
        if now_ns - self._sampled_ns >= self._pause_s * 1e9:
            self._sampled_ns, self._pause_s = now_ns, SAMPLE_SECONDS
            seen["host"] = self._smoothed(self._host.sample())
        if self._nvml is not None:
            seen["device"] = self._nvml.facts()  # None again when the GPU is lost: unknown, not the last known
            for note in self._nvml.notes:
                self._note(note)
        return seen

    def _smoothed(self, sample: HostFacts) -> HostFacts:
        """CPU use while training steps: the last sample alone may be of a pause, and a verdict is about the steps."""
        if sample.cpu_used is not None:
            self._uses.append(_Use(sample.cpu_used, sample.machine_cpu_share, not self.paused))
        self.paused = False
        uses = [use for use in self._uses if use.training] or list(self._uses)
        shares = [use.machine_share for use in uses if use.machine_share is not None]
        return replace(
            sample,
            cpu_used=fmean(use.cpus for use in uses) if uses else None,
            machine_cpu_share=fmean(shares) if shares else None,
        )

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
