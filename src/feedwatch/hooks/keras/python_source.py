"""torch and JAX backends (and TensorFlow's eager loop over a Python iterator): `next()` is timed exactly."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from feedwatch.guard import Guard
from feedwatch.hooks.keras.attribution import Fetch
from feedwatch.hooks.keras.ending import status_of
from feedwatch.hooks.keras.facts import batch_facts, leading_size
from feedwatch.hooks.keras.fetch_sources import FetchLog
from feedwatch.model.facts import BatchFacts
from feedwatch.model.report import Status

_guard = Guard("the look at the first batch")


class TimedPythonIterator:
    __slots__ = ("_asked", "_failed", "_iterator", "_log", "_now_ns", "show")

    def __init__(
        self,
        iterator: Iterator[Any],
        log: Callable[[Fetch], None],
        asked: Callable[[int], None],
        now_ns: Callable[[], int] = time.perf_counter_ns,
        failed: Callable[[BaseException], None] = lambda _: None,
    ) -> None:
        self._iterator = iterator
        self._log = log
        self._asked = asked
        self._now_ns = now_ns
        self._failed = failed
        self.show: Callable[[Any], None] | None = None  # called with the first batch

    def __iter__(self) -> "TimedPythonIterator":
        return self

    def __next__(self) -> Any:
        asked_ns = self._now_ns()
        self._asked(asked_ns)
        try:
            batch = next(self._iterator)
        except StopIteration:
            raise
        except BaseException as error:  # the user's own: noticed, and passed on untouched
            self._failed(error)
            raise
        self._log(Fetch(asked_ns, self._now_ns(), leading_size(batch)))
        if self.show is not None:
            show, self.show = self.show, None
            _guard.run(show, batch)
        return batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)


class PythonSource:
    name = "next() timed"
    measures = True
    per_iterator = False
    drain_calls = 0

    def __init__(self, asked: Callable[[int], None], got: Callable[[Fetch], None] | None = None) -> None:
        """`asked`: told at each fetch when it began, before it blocks; `got`: told when it is there."""
        self._log = FetchLog()
        self._got = got
        self._asked = asked
        self._batch: BatchFacts | None = None
        self._fetches = 0
        self._fetch_ns = 0
        self.failed: Callable[[Status], None] | None = None  # told how the user's data ended the run, if they do

    def wrap(self, iterator: Any) -> Any:
        twin = TimedPythonIterator(iterator, self._take, self._asked, failed=self._note_end)
        if self._batch is None:
            twin.show = self._first_batch
        return twin

    def _note_end(self, error: BaseException) -> None:
        if self.failed is not None:
            self.failed(status_of(error))

    def _take(self, fetch: Fetch) -> None:
        self._log.append(fetch)
        if self._got is not None:
            self._got(fetch)

    def drain(self) -> list[Fetch]:
        fetches = self._log.drain()
        self._fetches += len(fetches)
        self._fetch_ns += sum(fetch.got_ns - fetch.asked_ns for fetch in fetches)
        return fetches

    def batch(self) -> BatchFacts | None:
        """Of the first batch, by shape and dtype."""
        return self._batch

    def _first_batch(self, batch: Any) -> None:
        self._batch = batch_facts(batch)

    def fetch_ms(self) -> float | None:
        """Mean so far. Where nothing runs ahead this is what a batch takes to make."""
        return self._fetch_ns / self._fetches / 1e6 if self._fetches else None

    def close(self) -> None:
        return
