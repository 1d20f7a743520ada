"""What was concluded about a run: the verdict (what bounds it), and the findings: what to change for what gain."""

from dataclasses import dataclass, field
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


class Basis(str, Enum):
    PREDICTED = "predicted"  # from the step model
    MEASURED = "measured"  # from a trial


@dataclass(frozen=True, slots=True)
class Gain:
    low: float  # speed-up factor of the training step (or of the run, where `because` says so)
    high: float
    basis: Basis
    because: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Numbers from this run. A rule without the numbers stays silent."""

    says: str  # one or two sentences in the user's own numbers
    numbers: dict[str, float] = field(default_factory=dict)
    blanks: dict[str, str] = field(default_factory=dict)  # what the rule's title and fix are filled with


@dataclass(frozen=True, slots=True)
class Fix:
    before: str
    after: str  # pasting it works


@dataclass(frozen=True, slots=True)
class Finding:
    code: str  # FW101: permanent
    name: str  # loader-without-workers: says what is wrong
    title: str  # says what to do
    why: str
    evidence: dict[str, float]
    fix: Fix
    gain: Gain | None  # None: worth knowing, but nothing to gain by itself
