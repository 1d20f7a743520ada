"""A closer look at sampled fetches: the CPU share of loading in the main process, and the loader's queue."""

import time
from typing import Any

from feedwatch.hooks.torch.queue_gauge import QueueGauge


class FetchWatch:
    """`before_fetch` and `after_fetch` run on the training thread, in one step of eight."""

    def __init__(self) -> None:
        self.gauge: QueueGauge | None = None
        self.samples = 0
        self.wait_ns = 0
        self.cpu_ns = 0
        self._cpu_began_ns = 0

    def epoch_begin(self, iterators: list[Any]) -> None:
        """The live iterators of this epoch."""
        if self.gauge is None:
            self.gauge = QueueGauge()
        self.gauge.look_at(iterators)

    def before_fetch(self) -> None:
        if self.gauge is not None:
            self.gauge.before_fetch()
        self._cpu_began_ns = time.thread_time_ns()

    def after_fetch(self, wait_ns: int) -> None:
        self.cpu_ns += time.thread_time_ns() - self._cpu_began_ns
        self.wait_ns += wait_ns
        self.samples += 1
        if self.gauge is not None:
            self.gauge.after_fetch(wait_ns)

    @property
    def cpu_share(self) -> float | None:
        """Of the fetch, on the training thread: near 1 computes, near 0 waits."""
        return min(1.0, self.cpu_ns / self.wait_ns) if self.wait_ns > 0 else None

    @property
    def fetch_ms(self) -> float | None:
        return self.wait_ns / self.samples / 1e6 if self.samples else None
