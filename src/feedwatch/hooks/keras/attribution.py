"""Marks and fetches become step records: pure arithmetic over monotonic nanoseconds, no clock, no framework."""

from collections.abc import Sequence
from typing import NamedTuple

from feedwatch.model.steps import StepKind, StepRecord


class Fetch(NamedTuple):
    """One batch asked for and handed over."""

    asked_ns: int
    got_ns: int
    samples: int | None = None


class Execution(NamedTuple):
    """One call of the train function, for one or more batches."""

    from_ns: int  # the step's first mark
    begin_ns: int  # the call begins
    end_ns: int  # the call returned (or, with asynchronous dispatch, its result was there)
    until_ns: int  # the next step begins
    step: int  # the framework's step number after this call
    batches: int  # as planned; the fetches tell what was really taken
    traced: bool = False
    samples_per_batch: int | None = None  # where the fetches do not tell


class Attributed(NamedTuple):
    wait_ns: int
    compute_ns: int


def attribute(start_ns: int, fetches: Sequence[Fetch], end_ns: int) -> Attributed:
    """Who waited for what inside one execution of n fetches.

    With several steps per execution fetch i+1 overlaps compute i, so adding up the fetches overstates the wait. A
    step starts when its batch is there and the step before is done; with equal compute c per step the last one
    ends at max over j of (got_j + (n-j) c), which is the end we saw: that gives c, and c gives every wait.
    `start_ns` is when the device was last known to be free.
    """
    count = len(fetches)
    if not count:
        return Attributed(0, max(0, end_ns - start_ns))
    if count == 1:  # the usual case, and this runs for every step on the training thread
        asked_ns, got_ns, _ = fetches[0]
        return Attributed(max(0, got_ns - max(start_ns, asked_ns)), max(0, end_ns - got_ns))
    # Written for speed: this is most of a drain when ten batches are one call.
    each_ns = max(0.0, min([(end_ns - got_ns) / (count - j) for j, (_, got_ns, _) in enumerate(fetches)]))
    wait_ns, free_ns = 0.0, float(start_ns)
    for asked_ns, got_ns, _ in fetches:
        if got_ns > free_ns:
            wait_ns += max(0.0, got_ns - max(free_ns, asked_ns))
            free_ns = got_ns
        free_ns += each_ns
    return Attributed(int(wait_ns), int(each_ns * count))


def host_record(execution: Execution, fetches: Sequence[Fetch]) -> StepRecord:
    """The host waits for the device in every step (Keras on TensorFlow) or computes itself: its wait is the stall."""
    if not fetches:
        return unmeasured(execution)
    first_ns = min(execution.from_ns, fetches[0].asked_ns)
    wall_ns = max(1, execution.until_ns - first_ns)
    called_ns = max(0, execution.end_ns - execution.begin_ns)
    found = attribute(fetches[0].asked_ns, fetches, execution.end_ns)
    wait_ns = min(found.wait_ns, wall_ns)
    inside = fetches[0].asked_ns >= execution.begin_ns
    compute_ns = max(0, called_ns - wait_ns) if inside else called_ns
    return StepRecord(
        step=execution.step,
        wall_ns=wall_ns,
        input_wait_ns=wait_ns,
        h2d_ns=None,
        compute_ns=min(compute_ns, wall_ns - wait_ns),
        batches=len(fetches),
        samples=total_samples(fetches, execution.samples_per_batch),
        kind=StepKind.WARMUP if execution.traced else StepKind.STEADY,
    )


def device_record(execution: Execution, fetches: Sequence[Fetch], free_ns: int) -> StepRecord:
    """Dispatch is asynchronous: `end_ns` is when the result was there, `free_ns` when the one before was.

    The host may wait for a batch while the device still works on the last one: only the part of a fetch after
    `free_ns` starves the device.
    """
    if not fetches:
        return unmeasured(execution)
    wall_ns = max(1, execution.end_ns - free_ns)
    dispatched_ns = max(execution.begin_ns, free_ns)
    found = attribute(free_ns, fetches, max(execution.end_ns, fetches[-1].got_ns))
    starved_ns = min(found.wait_ns, wall_ns)
    # With one batch the step runs from its dispatch; with several only the chain rule can tell.
    ran_ns = found.compute_ns
    if len(fetches) == 1:
        ran_ns = execution.end_ns - max(dispatched_ns, fetches[0].got_ns)
    return StepRecord(
        step=execution.step,
        wall_ns=wall_ns,
        input_wait_ns=starved_ns,
        h2d_ns=None,
        compute_ns=max(0, min(ran_ns, wall_ns - starved_ns)),
        batches=len(fetches),
        samples=total_samples(fetches, execution.samples_per_batch),
        starved_ns=starved_ns,
        host_wait_ns=sum(max(0, f.got_ns - f.asked_ns) for f in fetches),
        kind=StepKind.WARMUP if execution.traced else StepKind.STEADY,
    )


def unmeasured(execution: Execution, kind: StepKind = StepKind.STEADY) -> StepRecord:
    """The wall time is known, its parts are not."""
    return StepRecord(
        step=execution.step,
        wall_ns=max(1, execution.until_ns - execution.from_ns),
        input_wait_ns=None,
        h2d_ns=None,
        compute_ns=None,
        batches=execution.batches,
        kind=StepKind.WARMUP if execution.traced else kind,
    )


def total_samples(fetches: Sequence[Fetch], per_batch: int | None = None) -> int | None:
    total = 0
    for _, _, counted in fetches:
        samples = per_batch if counted is None else counted
        if samples is None:
            return None
        total += samples
    return total
