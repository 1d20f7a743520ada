"""Steps and what they add up to: phases, step records, windows, gaps between epochs, and how many steps were seen."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

# The four phases of a step. They add up to the step's wall time.
INPUT_WAIT: Final = "input_wait"
H2D: Final = "h2d"
COMPUTE: Final = "compute"
OTHER: Final = "other"

PHASES: Final = (INPUT_WAIT, H2D, COMPUTE, OTHER)


class StepKind(Enum):
    """Only steady steps speak about the steady state; the others are counted and reported apart."""

    STEADY = "steady"
    WARMUP = "warmup"  # tracing, compilation, allocator growth
    EPOCH_FIRST = "epoch_first"  # carries iter(), worker start and the first fill of shuffle buffers
    PROFILED = "profiled"  # a profiler window of ours was opened, recorded or closed in it


class StepRecord(NamedTuple):
    """A tuple, not a dataclass: one is made at every step, and a tuple costs a third of the time."""

    step: int  # the framework's own step number, after this step
    wall_ns: int  # from this step's first mark to the next step's first mark
    input_wait_ns: int | None
    h2d_ns: int | None
    compute_ns: int | None
    batches: int = 1  # more than one with steps_per_execution or gradient accumulation
    samples: int | None = None
    starved_ns: int | None = None  # device clock: part of the wait in which the device had no work
    host_wait_ns: int | None = None  # with a device clock: how long the host waited
    kind: StepKind = StepKind.STEADY
    began_ns: int | None = None  # its first mark, on the monotonic clock

    @property
    def other_ns(self) -> int:
        """What nobody claimed stays visible instead of becoming compute."""
        claimed = (self.input_wait_ns or 0) + (self.h2d_ns or 0) + (self.compute_ns or 0)
        return max(0, self.wall_ns - claimed)


class EpochGap(NamedTuple):
    """Between the last step of one epoch and the first step of the next."""

    step: int
    wall_ns: int  # less validation
    loader_start_ns: int | None = None  # iter(loader): starting workers
    validation_ns: int | None = None  # since the gap before


class EpochMark(NamedTuple):
    """An epoch begins."""

    epoch: int
    step: int | None  # steps done so far


@dataclass(frozen=True, slots=True)
class PhaseTime:
    """One phase over the steps of a window (or of a whole run)."""

    total_ns: int
    median_ns: float
    p95_ns: float | None  # None: only a mean is known (sampled by the profiler)
    quick_ns: float | None = None  # one step in twenty took less

    def share_of(self, wall_ns: int) -> float:
        return self.total_ns / wall_ns if wall_ns > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Clumps:
    """How the waits lie in time: an even wait is a throughput problem, a clumped one a buffering problem."""

    stalled_steps: int  # steps whose wait was worth noticing
    largest_wait_ns: int


@dataclass(frozen=True, slots=True)
class Window:
    first_step: int
    last_step: int
    steps: int
    batches: int
    samples: int | None
    wall_ns: int  # of the training steps in it; epoch gaps and validation are not in here
    step: PhaseTime
    phases: dict[str, PhaseTime | None]  # input_wait, h2d, compute, other
    starved_ns: int | None = None  # device clock only
    clumps: Clumps | None = None
    distrust: tuple[str, ...] = field(default=())  # why this window cannot be trusted; empty = trusted
    ended_s: float = 0.0  # wall clock, for the event file

    @property
    def trusted(self) -> bool:
        return not self.distrust

    @property
    def stalled_ns(self) -> int | None:
        """Device starvation where a device clock ran, else the loop's wait."""
        if self.starved_ns is not None:
            return self.starved_ns
        wait = self.phases.get(INPUT_WAIT)
        return None if wait is None else wait.total_ns

    @property
    def stall_ratio(self) -> float | None:
        stalled = self.stalled_ns
        return None if stalled is None or self.wall_ns <= 0 else stalled / self.wall_ns


@dataclass(frozen=True, slots=True)
class Startup:
    """The start of a run, which happens once."""

    first_step_ms: float | None = None
    tracing_ms: float | None = None  # tracing and compilation, where the framework tells
    own_ms: float | None = None  # feedwatch itself: opening the run, the first report, the end up to the last one


@dataclass(frozen=True, slots=True)
class EpochBoundaries:
    """Time between the last step of one epoch and the first usual step of the next, less validation."""

    count: int = 0
    median_ms: float | None = None
    share: float | None = None  # of the run's wall time
    loader_start_ms: float | None = None  # median of iter(): starting workers
    first_fetch_ms: float | None = None  # mean of the first fetch of an epoch


@dataclass(frozen=True, slots=True)
class Counts:
    """How many steps stand behind the figures."""

    measured: int = 0  # trusted steady steps
    warmup: int = 0
    distrusted: int = 0
    lost: int = 0  # marks and steps dropped
    batches: int = 0
    samples: int | None = None
    wall_s: float = 0.0  # steps of every kind and epoch gaps
