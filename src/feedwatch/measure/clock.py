"""The one place that reads a clock. Everything that measures takes a clock as an argument."""

import time
from typing import Protocol


class Clock(Protocol):
    def now_ns(self) -> int:
        """Monotonic, for durations."""
        ...

    def wall_s(self) -> float:
        """Seconds since 1970, for event files and in-graph timestamps."""
        ...


class SystemClock:
    # Bound directly: a wrapper function would double the cost of a mark.
    now_ns = staticmethod(time.perf_counter_ns)
    wall_s = staticmethod(time.time)


SYSTEM_CLOCK = SystemClock()
