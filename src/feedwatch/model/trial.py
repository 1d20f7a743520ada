"""What a trial measured: the user's own training with one thing changed, in turns with the training as it is."""

from dataclasses import dataclass, field
from enum import Enum

from feedwatch.model.verdict import Fix

SettingValue = str | int | float | bool | None


class Role(str, Enum):
    AS_IS = "as is"
    CEILING = "ceiling"  # one batch again and again: what no change to the input can beat
    VARIANT = "variant"


class Outcome(str, Enum):
    FASTER = "faster"
    SLOWER = "slower"
    SAME = "no difference"  # above what the trial can tell
    UNDECIDED = "undecided"  # the time was up before the interval was narrow enough
    REFUSED = "refused"  # could not be made, or must not be; `note` says why
    FAILED = "failed"  # it raised; `note` is the user's own exception


class Ended(str, Enum):
    DECIDED = "decided"
    TIME_IS_UP = "time is up"
    INTERRUPTED = "interrupted"
    TRAINING_ENDED = "training ended"
    NOT_BEGUN = "not begun"


@dataclass(frozen=True, slots=True)
class Span:
    """A factor with its interval of confidence."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class TrialRow:
    name: str  # num_workers=4
    role: Role
    outcome: Outcome
    settings: dict[str, SettingValue] = field(default_factory=dict)
    codes: tuple[str, ...] = ()  # the rules whose change this is
    advised: bool = False  # a finding of this run asked for exactly this
    step_ms: float | None = None  # per batch, mean of the counted steps
    wait_share: float | None = None  # of the step; None where the framework fetches out of sight
    speedup: Span | None = None  # against the run as it is, measured beside it
    predicted: Span | None = None  # what the model of the supply had said before
    contradicts: bool = False  # what was measured lies outside of what was predicted
    blocks: int = 0
    steps: int = 0
    seconds: float = 0.0  # counted, without warm-up
    note: str | None = None


@dataclass(frozen=True, slots=True)
class TrialSection:
    ended: Ended
    seconds: float  # from the first block to the last
    rows: tuple[TrialRow, ...] = ()
    picked: str | None = None  # name of the row to use; None: nothing tried is better than the run as it is
    ceiling: Span | None = None  # "at most": measured with one cached batch
    drift: float | None = None  # last block as it is / first one: 1.0 is a machine that stayed as it was
    fix: Fix | None = None  # the picked setting, at the user's own call
    notes: tuple[str, ...] = ()

    @property
    def as_is(self) -> TrialRow | None:
        return next((row for row in self.rows if row.role is Role.AS_IS), None)

    @property
    def winner(self) -> TrialRow | None:
        return next((row for row in self.rows if row.name == self.picked), None)
