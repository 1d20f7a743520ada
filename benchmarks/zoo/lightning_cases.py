"""Lightning: one small function per cause. Numbers in comments are for one thread of the machine in RESULTS.md."""

import math
import multiprocessing
import time
from collections.abc import Iterator
from typing import Any

import lightning.pytorch as pl
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, TensorDataset

from benchmarks.zoo.case import Advised, Registry
from benchmarks.zoo.lightning_parts import CLASSES, FEATURES, Photos, Plan, prepared, share_of_worker

LIGHTNING = Registry("lightning")
case = LIGHTNING.case
BATCH = 16


def background(workers: float = 2, **more: Any) -> dict[str, Any]:
    return {"batch_size": BATCH, "num_workers": int(workers), "persistent_workers": True, **more}


# -- healthy ------------------------------------------------------------------------------------------------


@case(None, "two workers make a batch in a fifth of the step")
def healthy_workers(_: Advised | None) -> Plan:
    return Plan(DataLoader(Photos(BATCH * 45, side=48), **background()), device_ms=30)


@case(None, "tensors in memory, indexed batch by batch")
def healthy_in_memory(_: Advised | None) -> Plan:
    return Plan(_whole_batches(rows=40_000), device_ms=0, rounds=2)


@case(None, "no workers, but items cost next to nothing against the step")
def healthy_compute_bound(_: Advised | None) -> Plan:
    return Plan(DataLoader(Photos(BATCH * 80, side=12), batch_size=BATCH), device_ms=0, rounds=45)


# -- one cause each -----------------------------------------------------------------------------------------


@case("FW101", "photos are read and decoded between the steps")
def no_workers(fix: Advised | None) -> Plan:
    photos = Photos(BATCH * 30, storage_ms=2.0)
    if fix is None:
        return Plan(DataLoader(photos, batch_size=BATCH))
    return Plan(DataLoader(photos, **background(fix.get("workers_advised", 4))))


@case("FW102", "one worker waits for slow storage")
def one_worker(fix: Advised | None) -> Plan:
    workers = 1 if fix is None else fix.get("workers_advised", 4)
    return Plan(DataLoader(Photos(BATCH * 30, storage_ms=4.0, side=48), **background(workers)))


@case("FW104", "short epochs, and workers that are started for each", gain_of="run")
def workers_restart(fix: Advised | None) -> Plan:
    loader = DataLoader(
        Photos(BATCH * 15, side=24), batch_size=BATCH, num_workers=2, persistent_workers=fix is not None
    )
    return Plan(loader, epochs=12)


class Shards(Photos):
    """The first item of every 12th batch opens the next shard."""

    def __getitem__(self, index: int) -> tuple[Any, int]:
        if index % (12 * BATCH) == 0:
            time.sleep(0.15)
        return super().__getitem__(index)


@case("FW105", "opening the next shard takes longer than the queue lasts")
def shallow_prefetch(fix: Advised | None) -> Plan:
    depth = 2 if fix is None else int(fix.get("prefetch_factor_advised", 10))
    return Plan(DataLoader(Shards(BATCH * 72, side=24), **background(1, prefetch_factor=depth)))


@case("FW106", "a tensor in memory is taken apart into items and stacked again")
def in_memory_items(fix: Advised | None) -> Plan:
    rows, size = 100_000, 1024
    loader = DataLoader(_table(rows), batch_size=size, shuffle=True) if fix is None else _whole_batches(rows, size)
    return Plan(loader, device_ms=2, rounds=0)


@case("FW107", "a collate function that goes through the numbers one by one")
def slow_collate(fix: Advised | None) -> Plan:
    collate = number_by_number if fix is None else None
    return Plan(DataLoader(Photos(BATCH * 30, side=24), **background(1, collate_fn=collate)))


def number_by_number(items: list[tuple[Any, int]]) -> tuple[Any, Any]:
    """As it is written when padding, clipping and scaling are added one after the other."""
    rows = [[float(number) for number in features] for features, _ in items]
    for change in (abs, math.sqrt, math.tanh, math.exp) * 25:
        rows = [[change(number) for number in row] for row in rows]
    return torch.tensor(rows), torch.tensor([label for _, label in items])


class Stragglers(Photos):
    """Every fiftieth photo has not been shrunk: 100 times the work."""

    large_rounds = 350

    def __getitem__(self, index: int) -> tuple[Any, int]:
        if index % 50 == 7 and self.large_rounds:
            prepared(self._photos[0], self._side, 4 * self.large_rounds)
        return super().__getitem__(index)


@case("FW108", "one photo in fifty takes a hundred times as long")
def straggling_items(fix: Advised | None) -> Plan:
    photos = Stragglers(2 * 75, side=48)
    photos.large_rounds = photos.large_rounds if fix is None else 0
    return Plan(DataLoader(photos, **background(1, batch_size=2)))


class Folders(IterableDataset):
    """Large photos in one folder, small ones in the other."""

    def __init__(self, count: int, *, spread: bool) -> None:
        self._large, self._small = Photos(count, storage_ms=1.5, rounds=3), Photos(count, side=12)
        self._count, self._spread = count, spread

    def __iter__(self) -> Iterator[Any]:
        for place, index in enumerate(share_of_worker(range(self._count))):
            large = place % 2 == 0 if self._spread else index % 2 == 0
            yield (self._large if large else self._small)[index]


@case("FW109", "one worker gets the folder with the large photos, the other the small ones")
def uneven_workers(fix: Advised | None) -> Plan:
    return Plan(DataLoader(Folders(BATCH * 50, spread=fix is not None), **background()), device_ms=22)


@case("FW110", "two workers decode on two CPUs")
def cpu_saturated(fix: Advised | None) -> Plan:
    return Plan(DataLoader(Photos(BATCH * 40, rounds=4, side=96 if fix is None else 64), **background()), device_ms=10)


class OneDisk(Photos):
    """A disk that serves one request at a time, whoever asks."""

    _disk = multiprocessing.get_context("fork").Lock()

    def __init__(self, count: int, *, disk_ms: float) -> None:
        super().__init__(count, side=48)
        self._disk_s = disk_ms / 1000

    def __getitem__(self, index: int) -> tuple[Any, int]:
        with self._disk:
            time.sleep(self._disk_s)
        return super().__getitem__(index)


@case("FW111", "all workers wait for one disk")
def storage_bound(fix: Advised | None) -> Plan:
    return Plan(DataLoader(OneDisk(BATCH * 45, disk_ms=2.5 if fix is None else 0.3), **background()))


class Stream(IterableDataset):
    def __init__(self, count: int, *, sharded: bool) -> None:
        self._photos, self._sharded = Photos(count, side=24), sharded

    def __iter__(self) -> Iterator[Any]:
        everything = range(len(self._photos))
        for index in share_of_worker(everything) if self._sharded else everything:
            yield self._photos[index]


@case("FW113", "each of two workers yields the whole stream", gain_of="run")
def unsharded_stream(fix: Advised | None) -> Plan:
    return Plan(DataLoader(Stream(BATCH * 20, sharded=fix is not None), **background()), epochs=2)


class WatchesWeights(pl.Callback):
    def __init__(self, stride: int) -> None:
        super().__init__()
        self._stride = stride
        self._spectra: list[Any] = []

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if batch_idx % self._stride == 0:
            self._spectra.append(torch.linalg.svdvals(pl_module.hidden.weight.detach()))


@case("FW304", "a callback looks at the spectrum of the weights after every step")
def slow_callback(fix: Advised | None) -> Plan:
    callback = WatchesWeights(1 if fix is None else int(fix.get("every_n_steps", 50)))
    return Plan(DataLoader(Photos(BATCH * 50, side=24), **background()), callbacks=[callback])


def _table(rows: int) -> Dataset[Any]:
    return TensorDataset(torch.randn(rows, FEATURES), torch.randint(0, CLASSES, (rows,)))


def _whole_batches(rows: int, size: int = 256) -> Any:
    table = _table(rows)
    return DataLoader(table, batch_size=None, sampler=BatchSampler(RandomSampler(table), size, drop_last=False))
