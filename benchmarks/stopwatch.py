"""One reading of the clocks per step; a fit becomes a few figures."""

import statistics
import time
from collections.abc import Sequence
from itertools import pairwise

# Tracing, allocator growth, the first prefetched batches, and a profiler window over steps 10 to 20.
WARM_STEPS = 30

Reading = tuple[int, int, int]  # wall, CPU of this thread, CPU of this process: nanoseconds


def read_clocks() -> Reading:
    return time.perf_counter_ns(), time.thread_time_ns(), time.process_time_ns()


def figures(turns: Sequence[Sequence[Reading]], fit_seconds: float) -> dict[str, float]:
    """Microseconds per step after the warm-up, and what the whole fit took besides its usual steps.

    A fit is one row of readings, or several where it stood still between two of them. The mean contains what happens
    now and then (a window handed over, a flush); the median is what most steps see.
    """
    steady = _steady(turns)
    steps = sum(len(turn) - 1 for turn in steady)
    wall_us, thread_us, process_us = (
        sum(turn[-1][clock] - turn[0][clock] for turn in steady) / steps / 1e3 for clock in range(3)
    )
    median_us = statistics.median(after[0] - before[0] for turn in steady for before, after in pairwise(turn)) / 1e3
    return {
        "wall_us": wall_us,
        "thread_cpu_us": thread_us,
        "process_cpu_us": process_us,
        "median_wall_us": median_us,
        "once_ms": fit_seconds * 1e3 - (wall_us * steps + median_us * WARM_STEPS) / 1e3,
    }


def _steady(turns: Sequence[Sequence[Reading]]) -> list[Sequence[Reading]]:
    kept, warm = [], WARM_STEPS
    for turn in turns:
        if warm < len(turn) - 1:
            kept.append(turn[warm:])
        warm = max(0, warm - (len(turn) - 1))
    return kept


def mean_figures(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.fmean(row[name] for row in rows) for name in rows[0]}
