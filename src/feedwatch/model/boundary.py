"""What happens once: the start of the run, and the joints between epochs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Startup:
    first_step_ms: float | None = None
    tracing_ms: float | None = None  # tracing and compilation, where the framework tells


@dataclass(frozen=True, slots=True)
class EpochBoundaries:
    """Time between the last step of one epoch and the first usual step of the next, less validation."""

    count: int = 0
    median_ms: float | None = None
    share: float | None = None  # of the run's wall time
    loader_start_ms: float | None = None  # median of iter(): starting workers
    first_fetch_ms: float | None = None  # mean of the first fetch of an epoch
