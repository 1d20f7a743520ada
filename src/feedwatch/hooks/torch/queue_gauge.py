"""Was the batch already there? A look into a multi-process loader's queue before a fetch.

Private names of torch: when one is missing the gauge is off, and says so with None. `len` and `qsize` take no lock.
"""

import weakref
from typing import Any, Final

from feedwatch.measure.sketch import Sketch

# Handing over a ready batch takes 2–7 ms at most; a longer wait is a stall.
STALL_NS: Final = 10_000_000


class QueueGauge:
    def __init__(self) -> None:
        self._iterators: list[weakref.ref[Any]] = []
        self._ready = self._later_ready = False
        self._looked = False
        self.looks = self.found_ready = 0
        self.stalls = self.head_blocked = 0
        self.delivery_ns = Sketch()

    def look_at(self, iterators: list[Any]) -> None:
        # Weak: workers are shut down when their iterator's last reference goes, and it must not be ours.
        self._iterators = [weakref.ref(each) for each in iterators if _readable(each)]

    def before_fetch(self) -> None:
        alive = [iterator for iterator in (each() for each in self._iterators) if iterator is not None]
        self._looked = bool(alive)
        self._ready = True
        self._later_ready = False
        for iterator in alive:
            ready, later = _look(iterator)
            self._ready = self._ready and ready
            self._later_ready = self._later_ready or later

    def after_fetch(self, wait_ns: int) -> None:
        if not self._looked:
            return
        self.looks += 1
        if self._ready:
            self.found_ready += 1
            self.delivery_ns.add(wait_ns)
        elif wait_ns > STALL_NS:
            self.stalls += 1
            self.head_blocked += self._later_ready

    @property
    def ready_share(self) -> float | None:
        return self.found_ready / self.looks if self.looks else None

    @property
    def delivery_ms(self) -> float | None:
        median_ns = self.delivery_ns.quantile(0.5)
        return None if median_ns is None else median_ns / 1e6

    @property
    def head_blocked_share(self) -> float | None:
        return self.head_blocked / self.stalls if self.stalls else None


def _readable(iterator: Any) -> bool:
    return all(hasattr(iterator, name) for name in ("_task_info", "_data_queue", "_rcvd_idx"))


def _look(iterator: Any) -> tuple[bool, bool]:
    """(the next batch is there, a later one is there)."""
    arrived = [index for index, info in iterator._task_info.items() if len(info) == 2]
    head = iterator._rcvd_idx in arrived
    try:
        queued = int(iterator._data_queue.qsize())
    except NotImplementedError:  # macOS
        queued = 0
    # What is queued may be any batch; with nothing else in hand it is most likely the next one.
    return head or (queued > 0 and not arrived), bool(arrived) and not head
