"""What the host is doing: one sample between two windows, without sleeping."""

import time
from collections.abc import Callable
from contextlib import suppress

import psutil

from feedwatch.model.facts import HostFacts
from feedwatch.probe.cpu_budget import cpu_budget

GB = 1e9


class HostProbe:
    """Each sample speaks of the time since the one before; the first has no such time and knows less.

    Costs about a millisecond with a handful of workers (one /proc read each): call it from the sink's thread.
    """

    def __init__(self, clock_s: Callable[[], float] = time.monotonic, pid: int | None = None) -> None:
        self._clock_s = clock_s
        self._process = psutil.Process(pid)
        self._budget = cpu_budget()
        self._last_s: float | None = None
        self._last_cpu_s: float | None = None
        self._last_machine: tuple[float, float, float] | None = None

    def sample(self) -> HostFacts:
        now_s = self._clock_s()
        cpu_s = self._family_cpu_s()
        machine = _machine_times()
        facts = HostFacts(
            cpu_budget=self._budget,
            cpu_used=self._cpus_used(now_s, cpu_s),
            machine_cpu_share=_share(machine, self._last_machine, 1),
            iowait_share=_share(machine, self._last_machine, 2),
            ram_available_gb=_ram_available_gb(),
        )
        self._last_s, self._last_cpu_s, self._last_machine = now_s, cpu_s, machine
        return facts

    def _cpus_used(self, now_s: float, cpu_s: float | None) -> float | None:
        if self._last_s is None or self._last_cpu_s is None or cpu_s is None:
            return None
        # A child that nobody waits for (SIGCHLD ignored) takes its past with it: then nothing is known.
        if now_s <= self._last_s or cpu_s < self._last_cpu_s:
            return None
        return (cpu_s - self._last_cpu_s) / (now_s - self._last_s)

    def _family_cpu_s(self) -> float | None:
        """CPU seconds so far of this process and all its children, the ended ones included.

        A worker that ends hands its CPU time on to the process that waits for it: a sample taken right after training,
        when the workers are gone, still counts what they burnt.
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


def _machine_times() -> tuple[float, float, float] | None:
    """Total, busy and I/O-wait seconds of all CPUs since boot; I/O wait is NaN where it is not counted."""
    try:
        times = psutil.cpu_times()
    except (psutil.Error, OSError):
        return None
    # Guest time is already inside user time.
    total_s = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
    iowait_s = getattr(times, "iowait", float("nan"))
    idle_s = times.idle + (iowait_s if iowait_s == iowait_s else 0.0)  # noqa: PLR0124 -- NaN is not equal to itself
    return total_s, total_s - idle_s, iowait_s


def _share(
    now: tuple[float, float, float] | None, before: tuple[float, float, float] | None, index: int
) -> float | None:
    if now is None or before is None or now[0] <= before[0]:
        return None
    share = (now[index] - before[index]) / (now[0] - before[0])
    return min(1.0, max(0.0, share)) if share == share else None  # noqa: PLR0124 -- NaN: not counted here


def _ram_available_gb() -> float | None:
    try:
        return psutil.virtual_memory().available / GB
    except (psutil.Error, OSError):
        return None
