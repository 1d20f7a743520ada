"""Step records turned on their side: one tuple per field, so that folding a window runs at C speed."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import sub

from feedwatch.model.steps import StepKind, StepRecord


@dataclass(frozen=True, slots=True)
class Columns:
    """A phase is None as soon as one step does not know it: half a phase is not a phase."""

    step: tuple[int, ...]
    wall_ns: tuple[int, ...]
    input_wait_ns: tuple[int, ...] | None
    h2d_ns: tuple[int, ...] | None
    compute_ns: tuple[int, ...] | None
    other_ns: list[int] | None
    batches: int
    samples: int | None
    starved_ns: tuple[int, ...] | None
    kind: tuple[StepKind, ...]

    def __len__(self) -> int:
        return len(self.step)


def columns(records: Sequence[StepRecord]) -> Columns:
    """At least one record."""
    step, wall, wait, copy, compute, batches, samples, starved, _, kind = zip(*records, strict=True)
    known_samples = _complete(samples)
    return Columns(
        step=step,
        wall_ns=wall,
        input_wait_ns=_complete(wait),
        h2d_ns=_complete(copy),
        compute_ns=_complete(compute),
        # With nothing claimed there is nothing to set "the rest" against.
        other_ns=None if None in wait else _rest(wall, wait, copy, compute),
        batches=sum(batches),
        samples=None if known_samples is None else sum(known_samples),
        starved_ns=_complete(starved),
        kind=kind,
    )


def _complete(column: tuple[int | None, ...]) -> tuple[int, ...] | None:
    return None if None in column else column  # type: ignore[return-value]


def _rest(
    wall: tuple[int, ...],
    wait: Sequence[int | None],
    copy: Sequence[int | None],
    compute: Sequence[int | None],
) -> list[int]:
    """StepRecord.other_ns for a whole column."""
    rest = list(map(sub, wall, wait))
    for column in (copy, compute):
        claimed = [value or 0 for value in column] if None in column else column
        rest = list(map(sub, rest, claimed))
    return rest if min(rest) >= 0 else [max(0, value) for value in rest]
