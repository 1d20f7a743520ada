"""A rule that fired on this run, the change it proposes, and what that change is worth."""

from dataclasses import dataclass, field
from enum import Enum


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
