"""What the loader's workers measured: a table in shared memory, and the figures made of it.

Each worker writes one slot and nobody else writes it; the main process reads all. Forked workers inherit an anonymous
mapping, which cannot be left behind. Spawned ones get a file's path, and the file is unlinked when the loader is given
back, when the table is garbage-collected, or when the interpreter ends.
"""

import mmap
import os
import tempfile
import weakref
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from feedwatch.model.pipeline import Made, WorkerTime

PID, BATCHES, IDLE_NS, ITEMS_NS, COLLATE_NS, CPU_NS, CORE_WAIT_NS, HAS_CORE_WAIT, FINGERPRINT, WRITTEN = range(10)
ITEM_BUCKETS: Final = 96
_FIRST_BUCKET: Final = 16
_FIELDS: Final = _FIRST_BUCKET + ITEM_BUCKETS
# Behind the figures: when each of the last batches was begun and ended, and which one of its epoch it was.
RING: Final = 128
RING_FIRST: Final = _FIELDS
RING_CELLS: Final = 3
_SLOT: Final = _FIELDS + RING * RING_CELLS
# Three buckets per doubling from a microsecond on: a p99 far above the median is visible, 96 of them reach an hour.
_BUCKETS_PER_DOUBLING: Final = 3


class WorkerTable:
    def __init__(self, workers: int, *, inherited: bool) -> None:
        self.workers = workers
        self.path: Path | None = None
        size = max(1, workers) * _SLOT * 8
        if inherited:
            self._memory: mmap.mmap | None = mmap.mmap(-1, size)
        else:
            self._memory = self._make_file(size)
        self._cells: memoryview | None = memoryview(self._memory).cast("q")

    def slot(self, worker: int) -> memoryview | None:
        """None when this process can no longer reach the table."""
        cells = self._view()
        return None if cells is None else cells[worker * _SLOT : (worker + 1) * _SLOT]

    def rows(self) -> list[list[int]]:
        cells = self._view()
        if cells is None:
            return []
        return [list(cells[at * _SLOT : at * _SLOT + _FIELDS]) for at in range(self.workers)]

    def made(self, *, in_turn: bool) -> list[Made]:
        """The last batches of each worker, oldest first. `in_turn`: the loader hands them out to its workers in turn,
        so that each has a number.
        """
        found = []
        for worker in range(self.workers):
            slot = self.slot(worker)
            if slot is None:
                break
            before, cells = slot[WRITTEN], list(slot[RING_FIRST:])
            # What the worker may have written over meanwhile is left out.
            for number in range(max(0, slot[WRITTEN] - RING + 1), before):
                at = number % RING * RING_CELLS
                begin_ns, end_ns, turn = cells[at : at + RING_CELLS]
                found.append(Made(worker, begin_ns, end_ns, turn * self.workers + worker + 1 if in_turn else 0))
        return found

    def unlink(self) -> None:
        if self.path is not None:
            _unlink(self.path)

    def _make_file(self, size: int) -> mmap.mmap:
        # Memory rather than a disk where there is such a place.
        directory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 -- mkstemp makes the name
        descriptor, name = tempfile.mkstemp(prefix="feedwatch-", dir=directory)
        self.path = Path(name)
        self._finalizer = weakref.finalize(self, _unlink, self.path)
        try:
            os.ftruncate(descriptor, size)
            return mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)

    def _view(self) -> memoryview | None:
        if self._cells is None and self.path is not None:
            with suppress(OSError, ValueError), self.path.open("r+b") as file:
                self._memory = mmap.mmap(file.fileno(), 0)
                self._cells = memoryview(self._memory).cast("q")
        return self._cells

    def __getstate__(self) -> dict[str, Any]:
        return {"workers": self.workers, "path": self.path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.workers, self.path = state["workers"], state["path"]
        self._memory = self._cells = None


def item_bucket(item_ns: int) -> int:
    """The place of an item's time in its slot."""
    microseconds = item_ns // 1000
    if microseconds < 1:
        return _FIRST_BUCKET
    doublings = microseconds.bit_length() - 1
    # Linear inside a doubling: no logarithm on the worker's path.
    third = (microseconds - (1 << doublings)) * _BUCKETS_PER_DOUBLING >> doublings
    return _FIRST_BUCKET + min(ITEM_BUCKETS - 1, doublings * _BUCKETS_PER_DOUBLING + third)


def item_quantile_ms(rows: list[list[int]], share: float) -> float | None:
    counts = [sum(row[_FIRST_BUCKET + at] for row in rows) for at in range(ITEM_BUCKETS)]
    left = share * sum(counts)
    if not left:
        return None
    for at, count in enumerate(counts):
        left -= count
        if left <= 0:
            doublings, third = divmod(at, _BUCKETS_PER_DOUBLING)
            return (1 << doublings) * (1 + (third + 0.5) / _BUCKETS_PER_DOUBLING) / 1000
    return None


def _unlink(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


# -- the table as figures ---------------------------------------------------------------------------

Row = list[int]


@dataclass(frozen=True, slots=True)
class WorkersFold:
    """All workers together, per batch on one worker."""

    load_ms: float | None
    collate_ms: float | None
    item_ms: float | None
    item_p99_ms: float | None
    cpu_share: float | None
    core_wait_share: float | None
    blocked_share: float | None
    repeat_items: bool | None
    workers: tuple[WorkerTime, ...]


def fold_workers(rows: list[Row]) -> WorkersFold:
    batches = sum(row[BATCHES] for row in rows)
    total = [sum(column) for column in zip(*rows, strict=True)] if rows else []
    cpu, core_wait, blocked = _shares(total, len(rows)) if batches else (None, None, None)
    return WorkersFold(
        load_ms=(total[ITEMS_NS] + total[COLLATE_NS]) / batches / 1e6 if batches else None,
        collate_ms=total[COLLATE_NS] / batches / 1e6 if batches else None,
        item_ms=item_quantile_ms(rows, 0.5),
        item_p99_ms=item_quantile_ms(rows, 0.99),
        cpu_share=cpu,
        core_wait_share=core_wait,
        blocked_share=blocked,
        repeat_items=_repeat_items(rows),
        workers=tuple(_worker(number, row) for number, row in enumerate(rows)),
    )


def _worker(number: int, row: Row) -> WorkerTime:
    batches = row[BATCHES]
    if not batches:
        return WorkerTime(number, 0, None, None, None)
    alive_ns = row[IDLE_NS] + row[ITEMS_NS] + row[COLLATE_NS]
    cpu, core_wait, blocked = _shares(row, 1)
    return WorkerTime(
        number,
        batches,
        row[ITEMS_NS] / batches / 1e6,
        row[COLLATE_NS] / batches / 1e6,
        row[IDLE_NS] / alive_ns if alive_ns > 0 else None,
        cpu,
        core_wait,
        blocked,
    )


def _shares(row: Row, workers: int) -> tuple[float | None, float | None, float | None]:
    """Computing, ready without a core, blocked: shares of the busy time."""
    busy_ns = row[ITEMS_NS] + row[COLLATE_NS]
    if busy_ns <= 0:
        return None, None, None
    cpu = min(1.0, row[CPU_NS] / busy_ns)
    if row[HAS_CORE_WAIT] != workers:  # without the kernel's figure the rest cannot be divided
        return cpu, None, None
    core_wait = min(1.0 - cpu, row[CORE_WAIT_NS] / busy_ns)
    return cpu, core_wait, 1.0 - cpu - core_wait


def _repeat_items(rows: list[Row]) -> bool | None:
    """Different workers made the same batch: an iterable data set that nobody splits."""
    prints = [row[FINGERPRINT] for row in rows]
    if len(prints) < 2 or any(each <= 0 for each in prints):
        return None
    return len(set(prints)) == 1
