"""Two ways in which people time their data loading with callbacks alone, written here for the comparison.

Gap: from the end of one batch to the start of the next is input. Residual: what a step's period holds besides its
measured batch time is input. Both are right in a loop that does nothing else.
"""

import time
from collections.abc import Callable

from benchmarks.scenes import mean


class BatchTimes:
    """Feed it the begin and end of every batch."""

    def __init__(self, batch_ms: Callable[[], list[float]] | None = None) -> None:
        """`batch_ms`: the step's own clock, where there is one; else from begin to end."""
        self._begins: list[float] = []
        self._ends: list[float] = []
        self._batch_ms = batch_ms

    def begin(self) -> None:
        self._begins.append(time.perf_counter() * 1000)

    def end(self) -> None:
        self._ends.append(time.perf_counter() * 1000)

    def gap(self) -> dict[str, float | None]:
        gaps = [begin - end for end, begin in zip(self._ends, self._begins[1:], strict=False)]
        return {"input": mean(gaps), "compute": mean(self._between())}

    def residual(self) -> dict[str, float | None]:
        batch_ms = self._between() if self._batch_ms is None else self._batch_ms()
        periods = [after - before for before, after in zip(self._begins, self._begins[1:], strict=False)]
        rest = [period - batch for period, batch in zip(periods, batch_ms, strict=False)]
        # A step's own clock is the truth itself, and proves nothing.
        return {"input": mean(rest), "compute": mean(batch_ms) if self._batch_ms is None else None}

    def _between(self) -> list[float]:
        return [end - begin for begin, end in zip(self._begins, self._ends, strict=False)]
