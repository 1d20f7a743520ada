"""What the kernel says about the loader's worker processes: CPU time beside the fetch, and memory of their own.

Read on the sink's thread. Without /proc, or once the workers have ended, the last figures stay.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from feedwatch.hooks.torch.workers import BATCHES, CPU_NS, PID

PROC: Final = Path("/proc")
# A batch in the making is in the process' CPU time and not yet in the table: over so many batches that is little.
LEAST_BATCHES: Final = 20
MEMORY_EVERY_S: Final = 10.0


class _Spent(NamedTuple):
    process_ns: int = 0
    fetch_ns: int = 0
    batches: int = 0

    def plus(self, other: "_Spent", sign: int = 1) -> "_Spent":
        return _Spent(*(one + sign * two for one, two in zip(self, other, strict=True)))


class WorkerProcesses:
    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self.own_mb: float | None = None  # mean of the workers
        self._now_s = now_s
        self._first: dict[int, _Spent] = {}  # counted from the first look on: starting up is no part of a batch
        self._since: dict[int, _Spent] = {}
        self._ended = _Spent()
        self._memory_read_s: float | None = None

    def look(self, rows: list[list[int]]) -> None:
        started = [row for row in rows if row[PID] > 0]
        for pid in self._first.keys() - {row[PID] for row in started}:  # without persistent workers: every epoch
            self._first.pop(pid)
            self._ended = self._ended.plus(_if_enough(self._since.pop(pid)))
        for row in started:
            self._look_at(row)
        due = self._memory_read_s is None or self._now_s() - self._memory_read_s >= MEMORY_EVERY_S
        if started and due:
            self._memory_read_s = self._now_s()
            known = [each for row in started if (each := own_bytes(row[PID])) is not None]
            self.own_mb = sum(known) / len(known) / 1e6 if known else self.own_mb

    def _look_at(self, row: list[int]) -> None:
        process_ns = cpu_ns(row[PID])
        if process_ns is not None:
            now = _Spent(process_ns, row[CPU_NS], row[BATCHES])
            self._since[row[PID]] = now.plus(self._first.setdefault(row[PID], now), -1)

    @property
    def extra_cpu_ms(self) -> float | None:
        """Per batch, of all threads of a worker together."""
        total = self._ended
        for each in self._since.values():
            total = total.plus(_if_enough(each))
        return max(0.0, (total.process_ns - total.fetch_ns) / total.batches / 1e6) if total.batches else None


def _if_enough(spent: _Spent) -> _Spent:
    return spent if spent.batches >= LEAST_BATCHES else _Spent()


def cpu_ns(pid: int) -> int | None:
    """CPU time of all threads that live."""
    try:
        threads = list((PROC / str(pid) / "task").iterdir())
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)
    except (OSError, ValueError, IndexError):
        return None


def own_bytes(pid: int) -> int | None:
    """Memory that no other process shares: what one more worker costs."""
    try:
        lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("Private_Clean", "Private_Dirty")))
    except (OSError, ValueError, IndexError):
        return None
