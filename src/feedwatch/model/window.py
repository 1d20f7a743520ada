"""Consecutive steps, folded."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PhaseTime:
    """One phase over the steps of a window (or of a whole run)."""

    total_ns: int
    median_ns: float
    p95_ns: float | None  # None: only a mean is known (sampled by the profiler)

    def share_of(self, wall_ns: int) -> float:
        return self.total_ns / wall_ns if wall_ns > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Clumps:
    """How the waits lie in time: an even wait is a throughput problem, a clumped one a buffering problem."""

    stalled_steps: int  # steps whose wait was worth noticing
    longest_run: int  # longest row of consecutive stalled steps
    longest_gap: int  # longest row of steps without a stall between two stalls
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
    host_wait: PhaseTime | None = None  # with a device clock: what the loop waited
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
        wait = self.phases.get("input_wait")
        return None if wait is None else wait.total_ns

    @property
    def stall_ratio(self) -> float | None:
        stalled = self.stalled_ns
        return None if stalled is None or self.wall_ns <= 0 else stalled / self.wall_ns
