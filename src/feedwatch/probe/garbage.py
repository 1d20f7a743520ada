"""How long Python's garbage collector works. It calls us before and after each of its rounds (`gc.callbacks`)."""

import gc
from contextlib import suppress
from typing import Any

from feedwatch.measure.clock import Clock


class GarbageProbe:
    """A round costs us two readings of the clock. No other Python code runs meanwhile, so the rounds of all threads
    count, and one follows the other.
    """

    def __init__(self, clock: Clock) -> None:
        self._now_ns = clock.now_ns
        self._began_ns: int | None = None
        self._spent_ns = self._told_ns = 0
        self._asked_ns: int | None = None

    def start(self) -> None:
        self._asked_ns = self._now_ns()
        gc.callbacks.append(self._round)

    def stop(self) -> None:
        with suppress(ValueError):  # stopped before, or the user has emptied the list
            gc.callbacks.remove(self._round)

    def share(self) -> float | None:
        """Of the wall time since the last time it was asked for."""
        now_ns, spent_ns = self._now_ns(), self._spent_ns
        if self._asked_ns is None or now_ns <= self._asked_ns:
            return None
        share = (spent_ns - self._told_ns) / (now_ns - self._asked_ns)
        self._asked_ns, self._told_ns = now_ns, spent_ns
        return min(1.0, share)

    def _round(self, phase: str, _info: Any) -> None:
        now_ns = self._now_ns()
        if phase == "start":
            self._began_ns = now_ns
        elif self._began_ns is not None:
            self._spent_ns += now_ns - self._began_ns
            self._began_ns = None
