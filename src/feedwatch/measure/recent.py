"""The last few steps, read from the marks that were not handed over yet: for a log line of the user's own."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from feedwatch.measure.marks import ABANDON, DEVICE, Mark
from feedwatch.measure.steps import Ends, StepReader
from feedwatch.model.steps import StepRecord

# About a dozen steps: enough for a steady figure, few enough to be read in a fraction of a millisecond.
TAIL: Final = 64


class Recent(NamedTuple):
    """Means on the host's clock. None: not measured."""

    input_wait_ms: float | None
    copy_ms: float | None
    compute_ms: float | None
    steps: int


def recent(marks: Sequence[Mark]) -> Recent | None:
    """None before the first step is complete. The open step is not counted."""
    reader = StepReader(ends=Ends.NEXT)
    host = [mark for mark in marks[-TAIL:] if mark[1] not in (DEVICE, ABANDON)]
    read = reader.read(host)
    steps = [each for each in read if isinstance(each, StepRecord) and each.input_wait_ns is not None]
    if not steps:
        return None
    return Recent(
        _mean_ms([each.input_wait_ns for each in steps]),
        _mean_ms([each.h2d_ns for each in steps]),
        _mean_ms([each.compute_ns for each in steps]),
        len(steps),
    )


def _mean_ms(values_ns: "Sequence[int | None]") -> float | None:
    known = [value for value in values_ns if value is not None]
    return sum(known) / len(known) / 1e6 if known else None
