"""What runs inside a DataLoader worker: it times items and collate, and what the worker's time is made of.

Only `collate_fn` is wrapped, which every start method carries into the worker. `worker_init_fn` is never touched:
Lightning skips its own seeding when one is set, and the data would change. A spawned worker imports this module, so it
imports little.
"""

import os
import zlib
from collections.abc import Iterator
from time import perf_counter_ns, thread_time_ns
from typing import Any, Final

import numpy as np
import torch
from torch.utils.data import get_worker_info

from feedwatch.hooks.torch.workers import (
    BATCHES,
    COLLATE_NS,
    CORE_WAIT_NS,
    CPU_NS,
    FINGERPRINT,
    HAS_CORE_WAIT,
    IDLE_NS,
    ITEMS_NS,
    PID,
    RING,
    RING_CELLS,
    RING_FIRST,
    WRITTEN,
    WorkerTable,
    item_bucket,
)

# Single items are timed in one batch of four: two clock readings per item are not free for in-memory items.
TIME_ITEMS_EVERY: Final = 4
FINGERPRINT_BYTES: Final = 65_536


class CollateTap:
    """Stands in for the loader's collate function; its attributes are the original's."""

    def __init__(self, table: WorkerTable, collate: Any) -> None:
        self.table, self.collate = table, collate

    def __call__(self, data: Any) -> Any:
        recorder = _recorder_for(self.table)
        if recorder is not None:
            recorder.collate_began_ns = perf_counter_ns()
        return self.collate(data)

    def __getattr__(self, name: str) -> Any:
        if name in ("table", "collate") or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.collate, name)


class WorkerRecorder:
    """One per worker process. The first batch is not counted: we only arrive in the middle of it, with its collate."""

    def __init__(self, table: WorkerTable, worker: int, iterable: bool) -> None:
        slot = table.slot(worker)
        if slot is None:
            raise OSError("the worker table cannot be reached")
        self.table, self._slot, self._iterable = table, slot, iterable
        self.collate_began_ns = 0
        self._ended_ns = perf_counter_ns()
        self._turn = 1  # of the next batch in this epoch: the first one is being collated
        self._fetcher = 0  # torch makes a new one for every epoch
        slot[PID] = os.getpid()
        try:
            self._schedstat = os.open("/proc/self/schedstat", os.O_RDONLY)
            self._core_wait_ns()
            slot[HAS_CORE_WAIT] = 1
        except (OSError, ValueError, IndexError):
            self._schedstat = -1

    def fetch(self, original: Any, fetcher: Any, index: Any) -> Any:
        slot = self._slot
        began_ns, cpu_ns, waited_ns = perf_counter_ns(), thread_time_ns(), self._core_wait_ns()
        self.collate_began_ns = 0
        timing_items = slot[BATCHES] % TIME_ITEMS_EVERY == 0
        try:
            data = time_items(original, fetcher, index, slot) if timing_items else original(fetcher, index)
        finally:
            idle_ns, self._ended_ns = began_ns - self._ended_ns, perf_counter_ns()
        slot[IDLE_NS] += idle_ns
        slot[CPU_NS] += thread_time_ns() - cpu_ns
        slot[CORE_WAIT_NS] += self._core_wait_ns() - waited_ns
        collating_ns = self._ended_ns - (self.collate_began_ns or self._ended_ns)
        slot[COLLATE_NS] += collating_ns
        slot[ITEMS_NS] += self._ended_ns - began_ns - collating_ns
        slot[BATCHES] += 1
        self._write_down(began_ns, id(fetcher))
        if self._iterable and not slot[FINGERPRINT]:
            slot[FINGERPRINT] = fingerprint(data)
        return data

    def _write_down(self, began_ns: int, fetcher: int) -> None:
        """From when to when this batch was made, for the timeline."""
        slot = self._slot
        if self._fetcher and fetcher != self._fetcher:
            self._turn = 0
        self._fetcher = fetcher
        at = RING_FIRST + slot[WRITTEN] % RING * RING_CELLS
        slot[at], slot[at + 1], slot[at + 2] = began_ns, self._ended_ns, self._turn
        self._turn += 1
        slot[WRITTEN] += 1

    def _core_wait_ns(self) -> int:
        """Time this thread was ready but no core was free (the kernel's run delay)."""
        return int(os.pread(self._schedstat, 64, 0).split()[1]) if self._schedstat >= 0 else 0


def fingerprint(data: Any) -> int:
    """The same number for the same batch in two workers, -1 when unknown. It is shown nowhere."""
    while isinstance(data, (list, tuple, dict)) and data:
        data = next(iter(data.values())) if isinstance(data, dict) else data[0]
    if not isinstance(data, torch.Tensor) or data.device.type != "cpu" or not data.is_contiguous():
        return -1
    try:
        raw = np.frombuffer(data.detach().view(-1).numpy(), dtype=np.uint8)[:FINGERPRINT_BYTES]
    except (TypeError, ValueError, RuntimeError):
        return -1
    # A constant batch looks the same everywhere and proves nothing.
    return -1 if raw.size < 8 or bool((raw == raw[0]).all()) else zlib.crc32(raw.tobytes()) + 1


_recorder: WorkerRecorder | None = None
_tried: set[int] = set()


def _recorder_for(table: WorkerTable) -> WorkerRecorder | None:
    """The recorder of this worker process, made by its first collate; None in the main process."""
    global _recorder  # noqa: PLW0603 -- one per worker process, like torch's own worker info
    if _recorder is not None and _recorder.table is table:
        return _recorder
    if id(table) in _tried:
        return None
    _tried.add(id(table))
    info = get_worker_info()
    if info is None:
        return None
    try:
        iterable = isinstance(info.dataset, torch.utils.data.IterableDataset)
        _recorder = WorkerRecorder(table, info.id, iterable)
        _tap_fetchers()
    except Exception:
        return None  # a worker that cannot be measured works as before
    return _recorder


def _tap_fetchers() -> None:
    """In the worker process only: its fetcher classes are its own."""
    from torch.utils.data._utils import fetch as fetchers

    for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
        kind = getattr(fetchers, name, None)
        if kind is not None and not hasattr(kind.fetch, "__wrapped__"):
            kind.fetch = _tapped(kind.fetch)


def _tapped(original: Any) -> Any:
    def fetch(self: Any, possibly_batched_index: Any) -> Any:
        recorder = _recorder
        if recorder is None:
            return original(self, possibly_batched_index)
        return recorder.fetch(original, self, possibly_batched_index)

    fetch.__wrapped__ = original  # type: ignore[attr-defined]
    return fetch


# -- single items -----------------------------------------------------------------------------------


def time_items(original: Any, fetcher: Any, index: Any, slot: memoryview) -> Any:
    """For one fetch the fetcher asks a stand-in for its data set, which reads the clock around each item."""
    if hasattr(fetcher, "dataset_iter"):
        return _with(original, fetcher, index, "dataset_iter", _TimedIterator(fetcher.dataset_iter, slot))
    if hasattr(fetcher.dataset, "__getitems__"):
        return original(fetcher, index)  # whole batches: there are no single items
    return _with(original, fetcher, index, "dataset", _TimedDataset(fetcher.dataset, slot))


def _with(original: Any, fetcher: Any, index: Any, name: str, stand_in: Any) -> Any:
    before = getattr(fetcher, name)
    setattr(fetcher, name, stand_in)
    try:
        return original(fetcher, index)
    finally:
        setattr(fetcher, name, before)


class _TimedDataset:
    def __init__(self, dataset: Any, slot: memoryview) -> None:
        self._dataset, self._slot = dataset, slot

    def __getitem__(self, index: Any) -> Any:
        began_ns = perf_counter_ns()
        item = self._dataset[index]
        self._slot[item_bucket(perf_counter_ns() - began_ns)] += 1
        return item


class _TimedIterator:
    def __init__(self, items: Iterator[Any], slot: memoryview) -> None:
        self._items, self._slot = items, slot

    def __iter__(self) -> "_TimedIterator":
        return self

    def __next__(self) -> Any:
        began_ns = perf_counter_ns()
        item = next(self._items)
        self._slot[item_bucket(perf_counter_ns() - began_ns)] += 1
        return item
