"""Open variants of a trial, as far as no framework is concerned."""

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

# A batch that is ready is there at once. One that takes longer is being made: then none is ready any more.
READY_NS: Final = 3_000_000
# A source that always has one ready, as a cache has, is not emptied for longer than this.
LONGEST_NS: Final = 300_000_000


class Batches:
    """Batches of something that can be iterated, epoch after epoch."""

    def __init__(
        self,
        start: Callable[[], Iterator[Any]],
        running: Iterator[Any] | None = None,
        end: Callable[[Any], None] = lambda _: None,
        limit: int | None = None,
    ) -> None:
        """`start`: begins an epoch. `running`: one that is under way. `end`: ends what an iterator has started.
        `limit`: batches after which the loop ends an epoch, although the data goes on.
        """
        self._start, self._running, self._end = start, running, end
        self._limit, self._given = limit, 0
        self.last: Any = None  # the latest batch

    def enter(self) -> None: ...
    def leave(self) -> None: ...

    def next(self) -> Any:
        if self._running is None:
            self._running = self._start()
        if self._given == self._limit:
            raise StopIteration
        self.last = batch = next(self._running)
        self._given += 1
        return batch

    def skip(self, most: int, now_ns: Callable[[], int] = time.perf_counter_ns) -> None:
        """Only what is ready: the first batch that has to be waited for is the last one that is thrown away."""
        until_ns = now_ns() + LONGEST_NS
        for _ in range(most):
            began_ns = now_ns()
            self._throw_away()
            took_ns = now_ns() - began_ns
            if took_ns > READY_NS or began_ns + took_ns > until_ns:
                return

    def _throw_away(self) -> None:
        self.next()

    def restart(self) -> None:
        self._given = 0
        running, self._running = self._running, None
        self._end(running)
        self._running = self._start()

    def close(self) -> None:
        running, self._running, self.last = self._running, None, None
        if running is not None:
            self._end(running)


class Again:
    """One batch again and again: what no change to the input can beat."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch

    def next(self) -> Any:
        return shell(self._batch)

    def enter(self) -> None: ...
    def leave(self) -> None: ...
    def skip(self, most: int) -> None: ...
    def restart(self) -> None: ...
    def close(self) -> None: ...


def shell(batch: Any) -> Any:
    """New containers around the same tensors: a step may take its labels out of the dictionary it is given."""
    if type(batch) is dict:
        return {key: shell(value) for key, value in batch.items()}
    if type(batch) in (list, tuple):
        return type(batch)(shell(value) for value in batch)
    return copy.copy(batch) if isinstance(batch, Mapping) else batch
