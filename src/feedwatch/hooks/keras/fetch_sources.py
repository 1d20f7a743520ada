"""Who tells when a batch was asked for and when it was there."""

from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol

from feedwatch.hooks.keras.attribution import Fetch
from feedwatch.hooks.keras.timeline import MAX_PENDING


class FetchSource(Protocol):
    name: str  # how it measures, for the report
    measures: bool
    per_iterator: bool  # must be drained before an iterator is replaced
    drain_calls: int  # at the latest after so many calls; 0: when the caller likes

    def wrap(self, iterator: Any) -> Any:
        """The iterator to hand to Keras; the same one where it cannot be timed."""
        ...

    def drain(self) -> Sequence[Fetch]: ...

    def close(self) -> None: ...


class FetchLog:
    """Fetches seen by Python code; bounded."""

    def __init__(self) -> None:
        self._log: deque[Fetch] = deque(maxlen=MAX_PENDING)
        self.append = self._log.append

    def drain(self) -> list[Fetch]:
        taken = []
        while self._log:
            taken.append(self._log.popleft())
        return taken


class Unmeasured:
    """No way to see the fetch: the wait is not measured, and never guessed from the gap between callbacks."""

    name = "not measured"
    measures = False
    per_iterator = False
    drain_calls = 0

    def wrap(self, iterator: Any) -> Any:
        return iterator

    def drain(self) -> list[Fetch]:
        return []

    def close(self) -> None:
        return
