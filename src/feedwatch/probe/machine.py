"""The machine under the run, asked every few seconds: its CPUs, its memory and, where there is one, its GPU."""

import re
import shutil
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple

import psutil

from feedwatch.measure.clock import Clock
from feedwatch.model.facts import DeviceFacts, HostFacts, RunFacts
from feedwatch.probe.cpu_budget import cpu_budget, memory_left
from feedwatch.probe.device_memory import DeviceMemory, with_own_memory
from feedwatch.probe.garbage import GarbageProbe
from feedwatch.probe.handover import Handover, measure
from feedwatch.probe.nvml import NvmlProbe

# The last digest comes a few milliseconds after the last window; CPU use over so short a time says nothing.
FIRST_SAMPLE_SECONDS: Final = 0.5
# CPU use changes slowly. Finding our processes among all processes takes 2 to 5 ms of CPU (measured), and more where
# there are many: that is a thousandth of the time at most.
SAMPLE_SECONDS: Final = 2.0
SAMPLING_SHARE: Final = 0.001

# Half a minute or more: long enough to be steady, short enough to follow a run that changes.
RECENT_SAMPLES: Final = 15

GB: Final = 1e9
HANDOVERS: Final = 3
TASKS: Final = Path("/proc/self/task")
SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 -- only its free space is asked for


class _Use(NamedTuple):
    host: HostFacts
    training: bool


# What a sample says of the time since the one before it; the rest is about now.
_RATES: Final = (
    "cpu_used",
    "machine_cpu_share",
    "gc_share",
    "training_cpus",
    "process_cpus",
    "children_cpus",
    "training_delay",
    "process_delay",
)


class Machine:
    """Nothing is alive before `start`; `read` runs on the sink's thread. It owns the run's only NVML thread."""

    def __init__(self, run: RunFacts, note: Callable[[str], None], clock: Clock) -> None:
        self._note = note
        self._clock = clock
        self._host = HostProbe(clock)
        self._garbage = GarbageProbe(clock)
        self._sampled_ns = 0
        self._uses: deque[_Use] = deque(maxlen=RECENT_SAMPLES)
        # True if training stood still since the last sample: between epochs, in validation, at first while tracing.
        self.paused = True
        self._pause_s = FIRST_SAMPLE_SECONDS
        self._whole = True  # the first sample is still among the recent ones
        self._handovers_left = HANDOVERS if run.backend == "torch" or run.framework == "keras" else 0
        self._handed: Handover | None = None
        self._nvml: NvmlProbe | None = None
        if run.device_kind == "cuda":
            # TensorFlow does not tell what it has taken from the device.
            asks = run.backend == "tensorflow"
            self._nvml = NvmlProbe(_number(run.device), gpu_id=run.device_id, asks_held_memory=asks)
        # Told by the hook, on the training thread.
        self.counts_memory = False
        self.memory: DeviceMemory | None = None

    def _handover(self) -> Handover | None:
        """On the sink's thread, where batches may come from other processes. The least of a few times: a busy moment
        makes it look dearer than it is.
        """
        if self._handovers_left > 0:
            self._handovers_left -= 1
            now = measure()
            if now is None:
                self._handovers_left = 0
            elif self._handed is None or now.ms < self._handed.ms:
                self._handed = now
        return self._handed

    def start(self) -> Mapping[str, Any]:
        """The first sample knows the CPU budget and the memory; use is known from the second sample on."""
        first = self._host.sample()
        self._garbage.start()
        self._sampled_ns = self._clock.now_ns()
        if self._nvml is not None:
            self._nvml.start()
        return {"host": first}

    def read(self) -> Mapping[str, Any]:
        seen: dict[str, Any] = {}
        now_ns = self._clock.now_ns()
        if now_ns - self._sampled_ns >= self._pause_s * 1e9:
            began_ns, self._sampled_ns = self._clock.cpu_ns(), now_ns
            sample = self._host.sample()
            took_s = (self._clock.cpu_ns() - began_ns) / 1e9
            self._pause_s = max(SAMPLE_SECONDS, took_s / SAMPLING_SHARE)
            seen["host"] = self._smoothed(replace(sample, gc_share=self._garbage.share()))
        if self._nvml is not None or self.counts_memory:
            seen["device"] = self._device()
        return seen

    def _device(self) -> DeviceFacts | None:
        """None again when the GPU is lost: unknown, not the last known."""
        seen = None if self._nvml is None else self._nvml.facts()
        for note in () if self._nvml is None else self._nvml.notes:
            self._note(note)
        return with_own_memory(seen, self.memory) if self.counts_memory else seen

    def _smoothed(self, sample: HostFacts) -> HostFacts:
        """CPU use while training steps: the last sample alone may be of a pause, and a verdict is about the steps."""
        if sample.cpu_used is not None:
            # The oldest samples leave a full list by themselves.
            self._whole = len(self._uses) < RECENT_SAMPLES and self._whole
            self._uses.append(_Use(sample, not self.paused))
        self.paused = False
        # Where every sample holds a pause, the first one still holds the tracing of the model: it speaks only alone.
        later = list(self._uses)[1:] if self._whole else list(self._uses)
        uses = [use.host for use in self._uses if use.training] or [use.host for use in later or self._uses]
        means: dict[str, float | None] = {}
        for rate in _RATES:
            known = [value for host in uses if (value := getattr(host, rate)) is not None]
            means[rate] = fmean(known) if known else None
        handed = self._handover()
        if handed is not None:
            sample = replace(sample, handover_ms=handed.ms, handover_ms_per_mb=handed.ms_per_mb)
        return replace(sample, **means)

    def ending(self) -> None:
        """Sample once more soon: the end of a short run tells more than its start, which is imports and tracing."""
        self._pause_s = FIRST_SAMPLE_SECONDS

    def stop(self) -> None:
        self._garbage.stop()
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


class _Spent(NamedTuple):
    """CPU time and run delay so far, in seconds."""

    process_s: float
    children_s: float
    training_s: float | None
    training_delay_s: float | None
    delays_s: dict[int, float]  # of every thread that is alive; tf.data's threads end with their epoch


class HostProbe:
    """Each sample describes the time since the sample before; the first one has no such time and knows less.

    Made on the training thread, whose CPU time it tells apart. A sample costs about a millisecond with a handful of
    workers (one read of /proc for each process and thread).
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._process = psutil.Process()
        self._training_thread = threading.get_native_id()
        self._budget = cpu_budget()
        self._last_ns: int | None = None
        self._last: _Spent | None = None
        self._last_machine: _CpuSeconds | None = None

    def sample(self) -> HostFacts:
        now_ns = self._clock.now_ns()
        spent = self._spent()
        now, before = _machine_cpu_seconds(), self._last_machine
        facts = HostFacts(
            cpu_budget=self._budget,
            machine_cpu_share=_share(now, before, lambda each: each.busy),
            iowait_share=_share(now, before, lambda each: each.iowait),
            ram_available_gb=ram_available_gb(),
            shm_free_gb=_free_gb(SHARED_MEMORY),
        )
        if self._last_ns is not None and self._last is not None and spent is not None and now_ns > self._last_ns:
            facts = replace(facts, **_rates(spent, self._last, (now_ns - self._last_ns) / 1e9))
        self._last_ns, self._last, self._last_machine = now_ns, spent, now
        return facts

    def _spent(self) -> _Spent | None:
        """The system adds the CPU time of a worker that ends to the process that waits for it. A sample taken right
        after training, when the workers are gone, therefore still counts them.
        """
        try:
            own = self._process.cpu_times()
            children = self._process.children(recursive=True)
        except (psutil.Error, OSError):
            return None
        children_s = float(getattr(own, "children_user", 0.0) + getattr(own, "children_system", 0.0))
        for child in children:
            with suppress(psutil.Error, OSError):  # it ended between the two calls
                children_s += _cpu_s(child)
        threads = _threads()
        training = threads.get(self._training_thread)
        return _Spent(
            float(own.user + own.system),
            children_s,
            None if training is None else training[0],
            None if training is None else training[1],
            {thread: delay_s for thread, (_, delay_s) in threads.items()},
        )


def _rates(now: _Spent, before: _Spent, seconds: float) -> dict[str, float | None]:
    process, children = (now.process_s - before.process_s) / seconds, (now.children_s - before.children_s) / seconds
    delays_s = sum(max(0.0, delay_s - before.delays_s.get(thread, 0.0)) for thread, delay_s in now.delays_s.items())
    # The CPU time of a child that nobody waits for (SIGCHLD ignored) vanishes with it: then use is unknown.
    known = process >= 0 and children >= 0
    return {
        "cpu_used": process + children if known else None,
        "process_cpus": process if process >= 0 else None,
        "children_cpus": children if children >= 0 else None,
        "training_cpus": _rate(now.training_s, before.training_s, seconds),
        "training_delay": _rate(now.training_delay_s, before.training_delay_s, seconds),
        "process_delay": delays_s / seconds if now.delays_s and before.delays_s else None,
    }


def _rate(now_s: float | None, before_s: float | None, seconds: float) -> float | None:
    return None if now_s is None or before_s is None or now_s < before_s else (now_s - before_s) / seconds


def _threads() -> dict[int, tuple[float, float]]:
    """Thread id to CPU seconds and run delay; empty where the kernel does not tell (it is not Linux)."""
    found: dict[int, tuple[float, float]] = {}
    try:
        tasks = list(TASKS.iterdir())
    except OSError:
        return found
    for task in tasks:
        with suppress(OSError, ValueError, IndexError):  # a thread that has just ended
            cpu_ns, delay_ns = (task / "schedstat").read_text(encoding="ascii").split()[:2]
            found[int(task.name)] = (int(cpu_ns) / 1e9, int(delay_ns) / 1e9)
    return found


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


def ram_available_gb() -> float | None:
    """What this process may still use: of the machine, or below the limit of its cgroup where that is less."""
    try:
        free = [psutil.virtual_memory().available / GB]
    except (psutil.Error, OSError):
        free = []
    free += [left / GB for left in memory_left()]
    return min(free) if free else None


def _free_gb(directory: str) -> float | None:
    try:
        return shutil.disk_usage(directory).free / GB
    except OSError:
        return None
