"""Times of single items: for one fetch the fetcher asks a stand-in for its dataset, which only looks at the clock."""

from collections.abc import Iterator
from time import perf_counter_ns
from typing import Any

from feedwatch.hooks.torch.worker_table import item_bucket


def time_items(original: Any, fetcher: Any, index: Any, slot: memoryview) -> Any:
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
