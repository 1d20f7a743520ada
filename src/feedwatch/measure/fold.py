"""Folding a row of step records into one window: pure arithmetic."""

from collections.abc import Iterable, Sequence
from typing import Final

from feedwatch.model.phases import COMPUTE, H2D, INPUT_WAIT, OTHER
from feedwatch.model.step import StepRecord
from feedwatch.model.window import Clumps, PhaseTime, Window

# A step is stalled when its wait is a fifth of the usual step, and longer than handing over a ready batch takes.
STALL_SHARE: Final = 0.2
STALL_FLOOR_NS: Final = 300_000


def phase_time(values_ns: Sequence[int]) -> PhaseTime:
    ordered = sorted(values_ns)
    return PhaseTime(sum(ordered), float(_at(ordered, 0.5)), float(_at(ordered, 0.95)))


def fold(records: Sequence[StepRecord], ended_s: float = 0.0, distrust: tuple[str, ...] = ()) -> Window:
    """At least one record."""
    step = phase_time([record.wall_ns for record in records])
    waits = known(record.input_wait_ns for record in records)
    host_waits = known(record.host_wait_ns for record in records)
    starved = known(record.starved_ns for record in records)
    samples = known(record.samples for record in records)
    return Window(
        first_step=records[0].step,
        last_step=records[-1].step,
        steps=len(records),
        batches=sum(record.batches for record in records),
        samples=None if samples is None else sum(samples),
        wall_ns=step.total_ns,
        step=step,
        phases={
            INPUT_WAIT: _time_of(waits),
            H2D: _time_of(known(record.h2d_ns for record in records)),
            COMPUTE: _time_of(known(record.compute_ns for record in records)),
            # With nothing claimed there is nothing to set "the rest" against.
            OTHER: None if waits is None else phase_time([record.other_ns for record in records]),
        },
        starved_ns=None if starved is None else sum(starved),
        host_wait=_time_of(host_waits),
        clumps=None if waits is None else clumps(waits, step.median_ns),
        distrust=distrust,
        ended_s=ended_s,
    )


def known(values: Iterable[int | None]) -> list[int] | None:
    """The values when all are known, else None: half a phase is not a phase."""
    found: list[int] = []
    for value in values:
        if value is None:
            return None
        found.append(value)
    return found


def clumps(waits_ns: Sequence[int], step_median_ns: float) -> Clumps:
    floor_ns = max(STALL_FLOOR_NS, STALL_SHARE * step_median_ns)
    stalled = run = longest_run = gap = longest_gap = 0
    for wait_ns in waits_ns:
        if wait_ns > floor_ns:
            longest_gap = max(longest_gap, gap if stalled else 0)
            stalled, run, gap = stalled + 1, run + 1, 0
            longest_run = max(longest_run, run)
        else:
            run, gap = 0, gap + 1
    return Clumps(stalled, longest_run, longest_gap, max(waits_ns, default=0))


def _time_of(values_ns: list[int] | None) -> PhaseTime | None:
    return None if values_ns is None else phase_time(values_ns)


def _at(ordered: Sequence[int], share: float) -> float:
    """Linear between neighbours, as people expect a median to be."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
