"""How many batches a PyDataset's workers have ready: counted by what is finished, not by what is queued."""

import weakref
from typing import Any


class QueueGauge:
    def __init__(self, enqueuer: Any) -> None:
        self._enqueuer: weakref.ref[Any] = weakref.ref(enqueuer)
        self._looks = 0
        self._found_ready = 0

    def look(self) -> None:
        """Keras queues promises: only those that are fulfilled are batches."""
        enqueuer = self._enqueuer()
        if enqueuer is None:
            return
        try:
            waiting = list(enqueuer.future_queue.queue)
        except RuntimeError:  # a worker put one in while we looked; the next look will do
            return
        ready = sum(1 for promise in waiting if hasattr(promise, "ready") and promise.ready())
        self._looks += 1
        self._found_ready += ready > 0 or not enqueuer.ready_queue.empty()

    @property
    def ready_share(self) -> float | None:
        return self._found_ready / self._looks if self._looks else None
