"""What bounds the run."""

from dataclasses import dataclass
from enum import Enum


class Bound(str, Enum):
    INPUT = "input"
    TRANSFER = "transfer"
    COMPUTE = "compute"
    LAUNCH = "launch"
    HOST = "host"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    bound: Bound
    title: str  # one sentence a newcomer understands
    detail: str
    stall_ratio: float | None = None
    step_ms: float | None = None
    samples_per_s: float | None = None
    ceiling_speedup: float | None = None  # the step without the wait
    headroom: float | None = None  # step time / time the pipeline needs per batch; below 1 the input is the limit
