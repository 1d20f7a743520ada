"""The machine under the run, asked once per window: its CPUs, its memory and, where there is one, its GPU."""

import re
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from statistics import fmean
from typing import Any, Final, NamedTuple

import psutil

from feedwatch.measure.clock import Clock
from feedwatch.model.facts import HostFacts, RunFacts
from feedwatch.probe.cpu_budget import cpu_budget
from feedwatch.probe.nvml import NvmlProbe

# The last digest comes a few milliseconds after the last window; CPU use over so short a time says nothing.
FIRST_SAMPLE_SECONDS: Final = 0.5
# Finding our processes among all processes takes 2-3 ms of CPU (measured), and CPU use changes slowly.
SAMPLE_SECONDS: Final = 2.0

# Half a minute: long enough to be steady, short enough to follow a run that changes.
RECENT_SAMPLES: Final = 15

GB: Final = 1e9


class _Use(NamedTuple):
    cpus: float
    machine_share: float | None
    training: bool


class Machine:
    """Nothing is alive before `start`; `read` runs on the sink's thread. It owns the run's only NVML thread."""

    def __init__(self, run: RunFacts, note: Callable[[str], None], clock: Clock) -> None:
        self._note = note
        self._clock = clock
        self._host = HostProbe(clock)
        self._sampled_ns = 0
        self._uses: deque[_Use] = deque(maxlen=RECENT_SAMPLES)
        # True if training stood still since the last sample: between epochs, in validation, at first while tracing.
        self.paused = True
        self._pause_s = FIRST_SAMPLE_SECONDS
        self._nvml = NvmlProbe(_number(run.device), gpu_id=run.device_id) if run.device_kind == "cuda" else None

    def start(self) -> Mapping[str, Any]:
        """The first sample knows the CPU budget and the memory; use is known from the second sample on."""
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
        """Sample once more soon: the end of a short run tells more than its start, which is imports and tracing."""
        self._pause_s = FIRST_SAMPLE_SECONDS

    def stop(self) -> None:
        if self._nvml is not None:
            self._nvml.stop()


def _number(device: str) -> int:
    """The framework's own number of the device: `cuda:1 (NVIDIA A10G)`, `/device:GPU:1`."""
    found = re.search(r":(\d+)", device)
    return int(found.group(1)) if found else 0


class _CpuSeconds(NamedTuple):
    """Of all CPUs since boot."""

    total: float
    busy: float
    iowait: float | None  # None on systems that do not count it


class HostProbe:
    """Each sample describes the time since the sample before; the first one has no such time and knows less.

    A sample costs about a millisecond with a handful of workers (one read of /proc for each).
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._process = psutil.Process()
        self._budget = cpu_budget()
        self._last_ns: int | None = None
        self._last_cpu_s: float | None = None
        self._last_machine: _CpuSeconds | None = None

    def sample(self) -> HostFacts:
        now_ns = self._clock.now_ns()
        cpu_s = self._family_cpu_s()
        now, before = _machine_cpu_seconds(), self._last_machine
        facts = HostFacts(
            cpu_budget=self._budget,
            cpu_used=self._cpus_used(now_ns, cpu_s),
            machine_cpu_share=_share(now, before, lambda each: each.busy),
            iowait_share=_share(now, before, lambda each: each.iowait),
            ram_available_gb=_ram_available_gb(),
        )
        self._last_ns, self._last_cpu_s, self._last_machine = now_ns, cpu_s, now
        return facts

    def _cpus_used(self, now_ns: int, cpu_s: float | None) -> float | None:
        if self._last_ns is None or self._last_cpu_s is None or cpu_s is None:
            return None
        # The CPU time of a child that nobody waits for (SIGCHLD ignored) vanishes with it: then use is unknown.
        if now_ns <= self._last_ns or cpu_s < self._last_cpu_s:
            return None
        return (cpu_s - self._last_cpu_s) * 1e9 / (now_ns - self._last_ns)

    def _family_cpu_s(self) -> float | None:
        """CPU seconds so far of this process and of all its children, those that have ended included.

        The system adds the CPU time of a worker that ends to the process that waits for it. A sample taken right after
        training, when the workers are gone, therefore still counts them.
        """
        try:
            used_s = _cpu_s(self._process)
            children = self._process.children(recursive=True)
        except (psutil.Error, OSError):
            return None
        for child in children:
            with suppress(psutil.Error, OSError):  # it ended between the two calls
                used_s += _cpu_s(child)
        return used_s


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    ended_s = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return float(times.user + times.system + ended_s)


def _machine_cpu_seconds() -> _CpuSeconds | None:
    try:
        times = psutil.cpu_times()
    except (psutil.Error, OSError):
        return None
    # Guest time is already inside user time.
    total_s = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
    iowait_s: float | None = getattr(times, "iowait", None)
    return _CpuSeconds(total_s, total_s - times.idle - (iowait_s or 0.0), iowait_s)


def _share(
    now: _CpuSeconds | None, before: _CpuSeconds | None, part: Callable[[_CpuSeconds], float | None]
) -> float | None:
    if now is None or before is None or now.total <= before.total:
        return None
    part_now, part_before = part(now), part(before)
    if part_now is None or part_before is None:
        return None
    return min(1.0, max(0.0, (part_now - part_before) / (now.total - before.total)))


def _ram_available_gb() -> float | None:
    try:
        return psutil.virtual_memory().available / GB
    except (psutil.Error, OSError):
        return None
