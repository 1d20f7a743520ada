"""A bounded queue with one worker thread. Putting never waits; when it is full the oldest item goes, and is counted.

The thread takes all items that wait, and then settles: what is slow (writing files) is done once for all of them, so
that a thread which was held up by a disk catches up with one write. While nothing comes it settles now and then, so
that a reader of the files sees that the process is alive.
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Generic, TypeVar

from feedwatch.guard import Guard

Item = TypeVar("Item")

# One window per slot: 64 windows outlast any stall of a network file system we have seen.
QUEUE_WINDOWS: Final = 64
# Training has ended by then; a disk that needs longer keeps what the thread can still write.
CLOSE_SECONDS: Final = 2.0
# Between the end of its work and the end of the thread itself lie microseconds.
JOIN_SECONDS: Final = 1.0


class Sink(Generic[Item]):
    def __init__(
        self,
        consume: Callable[[Item], None],
        guard: Guard,
        settle: Callable[[], None] = lambda: None,
        idle_seconds: float | None = None,
        capacity: int = QUEUE_WINDOWS,
    ) -> None:
        self._consume = consume
        self._settle = settle
        self._idle_seconds = idle_seconds
        self._guard = guard
        self._queue: deque[Item] = deque(maxlen=capacity)
        self._wake = threading.Event()
        self._done = threading.Event()
        self._closing = False
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self.dropped = 0

    def put(self, item: Item) -> None:
        # A forked child inherits this object but not its thread, and the files belong to the parent.
        if self._closing or os.getpid() != self._pid:
            return
        if len(self._queue) == self._queue.maxlen:
            self.dropped += 1
        self._queue.append(item)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="feedwatch-sink", daemon=True)
            self._thread.start()
        self._wake.set()

    def close(self, seconds: float = CLOSE_SECONDS) -> bool:
        """True when everything was written in time."""
        if os.getpid() != self._pid:
            return True
        self._closing = True
        self._wake.set()
        if self._thread is None:
            return True
        finished = self._done.wait(seconds)
        if finished:
            # A signal handler that raises while the thread is being started (torch's, for a dead worker) leaves a
            # Thread object that cannot be joined, although its work is done.
            with suppress(RuntimeError):
                self._thread.join(JOIN_SECONDS)
        return finished

    def _work(self) -> None:
        try:
            self._consume_until_closed()
        finally:
            self._done.set()

    def _consume_until_closed(self) -> None:
        while True:
            if not self._wake.wait(self._idle_seconds):
                self._guard.run(self._settle)
                continue
            self._wake.clear()
            closing = self._closing
            while self._queue:
                for _ in range(len(self._queue)):
                    self._guard.run(self._consume, self._queue.popleft())
                self._guard.run(self._settle)
            if closing:
                return
