"""The nanoseconds of one step, by phase."""

from enum import Enum
from typing import NamedTuple


class StepKind(Enum):
    """Only steady steps speak about the steady state; the others are counted and reported apart."""

    STEADY = "steady"
    WARMUP = "warmup"  # tracing, compilation, allocator growth
    EPOCH_FIRST = "epoch_first"  # carries iter(), worker start and the first fill of shuffle buffers


class StepRecord(NamedTuple):
    """A tuple, not a dataclass: one is made at every step, and a tuple costs a third of the time."""

    step: int  # the framework's own step number, after this step
    wall_ns: int  # from this step's first mark to the next step's first mark
    input_wait_ns: int | None
    h2d_ns: int | None
    compute_ns: int | None
    batches: int = 1  # more than one with steps_per_execution or gradient accumulation
    samples: int | None = None
    starved_ns: int | None = None  # device clock: part of the wait in which the device had run dry
    host_wait_ns: int | None = None  # with a device clock: how long the host waited
    kind: StepKind = StepKind.STEADY

    @property
    def other_ns(self) -> int:
        """What nobody claimed stays visible instead of becoming compute."""
        claimed = (self.input_wait_ns or 0) + (self.h2d_ns or 0) + (self.compute_ns or 0)
        return max(0, self.wall_ns - claimed)
