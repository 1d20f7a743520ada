"""The one place that reads a clock. Everything that measures takes a clock as an argument."""

import time
from collections.abc import Callable
from typing import Final, Protocol

# A clock in steps of a tenth of a millisecond or more tells nothing about the parts of a short step.
COARSE_NS: Final = 100_000
# A fine clock moves at every reading. The slowest known one moves after 16 ms, which is some hundred thousand of them.
_MOST_READINGS: Final = 500_000


class Clock(Protocol):
    def now_ns(self) -> int:
        """Monotonic, for durations."""
        ...

    def wall_s(self) -> float:
        """Seconds since 1970, for event files and in-graph timestamps."""
        ...

    def tick_ns(self) -> int:
        """The smallest step in which `now_ns` moves."""
        ...

    def cpu_ns(self) -> int:
        """What the calling thread has worked so far."""
        ...


class SystemClock:
    # Bound directly: a wrapper function would double the cost of a mark.
    now_ns = staticmethod(time.perf_counter_ns)
    wall_s = staticmethod(time.time)
    cpu_ns = staticmethod(time.thread_time_ns)

    def tick_ns(self) -> int:
        return smallest_step_ns(self.now_ns)


def smallest_step_ns(now_ns: Callable[[], int]) -> int:
    """By reading it: what systems say about their clocks is not what the clocks do."""
    steps: list[int] = []
    last_ns = began_ns = now_ns()
    for _ in range(_MOST_READINGS):
        read_ns = now_ns()
        if read_ns != last_ns:
            steps.append(read_ns - last_ns)
            last_ns = read_ns
            # The first step may be a part of one: it began before we looked.
            if min(steps) < COARSE_NS or len(steps) == 3:
                break
    return min(steps, default=max(COARSE_NS, last_ns - began_ns))


SYSTEM_CLOCK = SystemClock()
