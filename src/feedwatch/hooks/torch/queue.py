"""A closer look at a few fetches: was the batch already there, and did the training thread compute or wait?

The training thread calls `before_fetch` and `after_fetch` in the sampled steps only.
"""

import time
import weakref
from typing import Any, Final

from feedwatch.guard import Guard
from feedwatch.measure.sketch import Sketch

# Of an epoch, from its second one on: the first draw may put the whole epoch in order. Enough for a mean.
TIMED_DRAWS: Final = 64


class SampledFetches:
    """Times sampled fetches and looks into the loader's queue before each of them."""

    def __init__(self, guard: Guard) -> None:
        self.gauge = QueueGauge()
        self.draws = IndexDraws()
        self._guard = guard
        self._fetches = 0
        self._wait_ns = self._cpu_ns = 0
        self._cpu_began_ns = 0

    def epoch_begin(self, iterators: list[Any]) -> None:
        """The live iterators of this epoch."""
        self.gauge.look_at(iterators)
        self._guard.run(self.draws.watch, iterators)

    def before_fetch(self) -> None:
        if self.gauge.sees:
            self._guard.run(self.gauge.before_fetch)
        self._cpu_began_ns = time.thread_time_ns()

    def after_fetch(self, wait_ns: int) -> None:
        cpu_ns = time.thread_time_ns() - self._cpu_began_ns
        self._fetches += 1
        if self._fetches > 1:  # the first one also opens files and fills caches
            self._cpu_ns += cpu_ns
            self._wait_ns += wait_ns
        if self.gauge.sees:
            self._guard.run(self.gauge.after_fetch, wait_ns)

    @property
    def cpu_share(self) -> float | None:
        """Of the fetch, on the training thread: near 1 it computes, near 0 it waits."""
        return min(1.0, self._cpu_ns / self._wait_ns) if self._wait_ns > 0 else None

    @property
    def fetch_ms(self) -> float | None:
        return self._wait_ns / (self._fetches - 1) / 1e6 if self._fetches > 1 else None


class IndexDraws:
    """What the sampler takes for the indices of a batch, on the training thread, hidden in the fetch.

    The indices of the first batches are drawn while the loader makes its iterator, before anybody can look.
    """

    def __init__(self) -> None:
        self.batches = self.total_ns = 0

    def watch(self, iterators: list[Any]) -> None:
        """Only of torch's own iterators: another class may have plans with its sampler. Resetting an iterator of
        persistent workers gives it a new one.
        """
        for iterator in iterators:
            drawn = getattr(iterator, "_sampler_iter", None)
            if type(iterator).__module__ == "torch.utils.data.dataloader" and type(drawn).__name__ == "generator":
                iterator._sampler_iter = _TimedDraws(iterator, drawn, self)

    @property
    def mean_ms(self) -> float | None:
        return self.total_ns / self.batches / 1e6 if self.batches else None


class _TimedDraws:
    """Stands in for the sampler's iterator, and gives it back when it has seen enough."""

    def __init__(self, iterator: Any, drawn: Any, draws: IndexDraws) -> None:
        self._iterator = weakref.ref(iterator)
        self._drawn, self._draws = drawn, draws
        self._seen = -1

    def __iter__(self) -> "_TimedDraws":
        return self

    def __next__(self) -> Any:
        began_ns = time.perf_counter_ns()
        indices = next(self._drawn)
        took_ns = time.perf_counter_ns() - began_ns
        self._seen += 1
        if self._seen:
            self._draws.total_ns += took_ns
            self._draws.batches += 1
        iterator = self._iterator() if self._seen >= TIMED_DRAWS else None
        if iterator is not None and iterator._sampler_iter is self:
            iterator._sampler_iter = self._drawn
        return indices


class QueueGauge:
    """Looks into a multi-process loader's queue.

    It reads private names of torch. When one is missing, the gauge is off and its figures are None. `len` and `qsize`
    take no lock.
    """

    def __init__(self) -> None:
        self._iterators: list[weakref.ref[Any]] = []
        self._ready = False
        self._looked = False
        self.looks = self.found_ready = 0
        self.delivery_ns = Sketch()

    def look_at(self, iterators: list[Any]) -> None:
        # Weak: workers are shut down when their iterator's last reference goes, and it must not be ours.
        self._iterators = [weakref.ref(each) for each in iterators if _readable(each)]

    @property
    def sees(self) -> bool:
        """A loader without workers has no queue."""
        return bool(self._iterators)

    def before_fetch(self) -> None:
        alive = [iterator for iterator in (each() for each in self._iterators) if iterator is not None]
        self._looked = bool(alive)
        self._ready = True
        for iterator in alive:
            self._ready = self._ready and _next_is_ready(iterator)

    def after_fetch(self, wait_ns: int) -> None:
        if not self._looked:
            return
        self.looks += 1
        if self._ready:
            self.found_ready += 1
            self.delivery_ns.add(wait_ns)

    @property
    def ready_share(self) -> float | None:
        return self.found_ready / self.looks if self.looks else None

    @property
    def delivery_ms(self) -> float | None:
        median_ns = self.delivery_ns.quantile(0.5)
        return None if median_ns is None else median_ns / 1e6


def _readable(iterator: Any) -> bool:
    return all(hasattr(iterator, name) for name in ("_task_info", "_data_queue", "_rcvd_idx"))


def _next_is_ready(iterator: Any) -> bool:
    arrived = [index for index, info in iterator._task_info.items() if len(info) == 2]
    head = iterator._rcvd_idx in arrived
    try:
        queued = int(iterator._data_queue.qsize())
    except NotImplementedError:  # macOS
        queued = 0
    # A queued batch may be any batch. When no batch has arrived out of turn, it is most likely the next one.
    return head or (queued > 0 and not arrived)
