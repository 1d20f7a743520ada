"""Folding a row of step records into one window: pure arithmetic."""

from collections.abc import Sequence
from typing import Final

from feedwatch.measure.columns import Columns
from feedwatch.model.steps import COMPUTE, H2D, INPUT_WAIT, OTHER, Clumps, PhaseTime, Window

# A step is stalled when its wait is a fifth of the usual step, and longer than handing over a ready batch takes.
STALL_SHARE: Final = 0.2
STALL_FLOOR_NS: Final = 300_000


def fold(steps: Columns, ended_s: float = 0.0, distrust: tuple[str, ...] = ()) -> Window:
    step = phase_time(steps.wall_ns)
    assert step is not None  # a window has at least one step
    waits = steps.input_wait_ns
    return Window(
        first_step=steps.step[0],
        last_step=steps.step[-1],
        steps=len(steps),
        batches=steps.batches,
        samples=steps.samples,
        wall_ns=step.total_ns,
        step=step,
        phases={
            INPUT_WAIT: phase_time(waits),
            H2D: phase_time(steps.h2d_ns),
            COMPUTE: phase_time(steps.compute_ns),
            OTHER: phase_time(steps.other_ns),
        },
        starved_ns=None if steps.starved_ns is None else sum(steps.starved_ns),
        clumps=None if waits is None else clumps(waits, step.median_ns),
        distrust=distrust,
        ended_s=ended_s,
    )


def phase_time(values_ns: Sequence[int] | None) -> PhaseTime | None:
    if values_ns is None:
        return None
    ordered = sorted(values_ns)
    return PhaseTime(sum(ordered), _at(ordered, 0.5), _at(ordered, 0.95))


def clumps(waits_ns: Sequence[int], step_median_ns: float) -> Clumps:
    floor_ns = max(STALL_FLOOR_NS, STALL_SHARE * step_median_ns)
    return Clumps(sum(wait_ns > floor_ns for wait_ns in waits_ns), max(waits_ns, default=0))


def _at(ordered: Sequence[int], share: float) -> float:
    """Linear between neighbours, as people expect a median to be."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
