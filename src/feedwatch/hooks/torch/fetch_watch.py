"""A closer look at sampled fetches: the CPU share of loading in the training thread, and the loader's queue."""

import time
from typing import Any

from feedwatch.guard import Guard
from feedwatch.hooks.torch.queue_gauge import QueueGauge


class FetchWatch:
    """`before_fetch` and `after_fetch` run on the training thread, in the sampled steps only."""

    def __init__(self, guard: Guard) -> None:
        self.gauge = QueueGauge()
        self._guard = guard
        self._fetches = 0
        self._wait_ns = self._cpu_ns = 0
        self._cpu_began_ns = 0

    def epoch_begin(self, iterators: list[Any]) -> None:
        """The live iterators of this epoch."""
        self.gauge.look_at(iterators)

    def before_fetch(self) -> None:
        self._guard.run(self.gauge.before_fetch)
        self._cpu_began_ns = time.thread_time_ns()

    def after_fetch(self, wait_ns: int) -> None:
        cpu_ns = time.thread_time_ns() - self._cpu_began_ns
        self._fetches += 1
        if self._fetches > 1:  # the first one also opens files and fills caches
            self._cpu_ns += cpu_ns
            self._wait_ns += wait_ns
        self._guard.run(self.gauge.after_fetch, wait_ns)

    @property
    def cpu_share(self) -> float | None:
        """Of the fetch, on the training thread: near 1 computes, near 0 waits."""
        return min(1.0, self._cpu_ns / self._wait_ns) if self._wait_ns > 0 else None

    @property
    def fetch_ms(self) -> float | None:
        return self._wait_ns / (self._fetches - 1) / 1e6 if self._fetches > 1 else None
