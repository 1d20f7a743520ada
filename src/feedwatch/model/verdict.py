"""What was concluded about a run: the verdict (what bounds it), and the findings: what to change for what gain."""

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


class Basis(str, Enum):
    PREDICTED = "predicted"  # from the model of the supply
    MEASURED = "measured"  # from a trial


@dataclass(frozen=True, slots=True)
class PaceStage:
    name: str
    ms: float  # for one batch on one of its lanes
    lanes: float  # so many batches at once


@dataclass(frozen=True, slots=True)
class Pace:
    """One usual batch after the change, as the model expects it. The tab draws it beside the steps as they were."""

    batch_ms: float  # epoch starts, validation and gaps are not in it
    step_ms: float  # of the training thread, with a batch at hand
    ahead: bool  # batches are made while the step runs
    stages: tuple[PaceStage, ...] = ()


@dataclass(frozen=True, slots=True)
class Gain:
    low: float  # speed-up factor of the training step (or of the run, where `because` says so)
    high: float
    basis: Basis
    because: str
    pace: Pace | None = None  # None: the change is not one of the input


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
    alters: tuple[str, ...] = ()  # besides the speed: order, randomness, precision, code (see advise/rule.py)
