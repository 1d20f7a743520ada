"""What a user may choose. Wrong values raise here, at construction, before the first step."""

import json
import os
from dataclasses import asdict, dataclass
from typing import Final, Literal

from feedwatch.errors import SettingError

ProfileChoice = Literal["auto"] | bool

# A window folds about a second: long enough that one number per window costs nothing, short enough to be live.
WINDOW_SECONDS: Final = 1.0
# Tracing, allocator growth and autotuning settle within the first calls; epochs and shuffles are kept apart by kind.
WARMUP_STEPS: Final = 3
# How a trial may last: long enough for several blocks of each variant, short enough to wait for.
TRIAL_SECONDS: Final = 60.0
TRIAL_VARIABLE: Final = "FEEDWATCH_TRIAL"


@dataclass(frozen=True, slots=True)
class TrialWish:
    """`feedwatch try`, or `trial=True`: the run measures variants of its own input; its weights are thrown away."""

    seconds: float = TRIAL_SECONDS
    only: tuple[str, ...] = ()  # codes of rules: only their changes are tried
    directory: str | None = None  # where its report goes

    def __post_init__(self) -> None:
        if not _is_number(self.seconds) or not 1 <= self.seconds <= 3600:
            raise SettingError(f"a trial lasts between 1 and 3600 seconds, not {self.seconds!r}")

    def to_environment(self) -> str:
        return json.dumps(asdict(self))


def wished_trial(asked: bool | float) -> TrialWish | None:
    """By the argument of a callback (a number: so many seconds), or by `feedwatch try`, which tells every callback of
    its process.
    """
    if not isinstance(asked, (bool, int, float)):
        raise SettingError(f"trial must be True, False or a number of seconds, not {asked!r}")
    told = os.environ.get(TRIAL_VARIABLE)
    if told is None:
        if asked is False:
            return None
        return TrialWish() if asked is True else TrialWish(float(asked))
    try:
        found = json.loads(told)
        return TrialWish(float(found["seconds"]), tuple(found["only"]), found["directory"])
    except (ValueError, KeyError, TypeError):
        raise SettingError(f"{TRIAL_VARIABLE} is set by `feedwatch try`, and {told!r} is not what it sets") from None


@dataclass(frozen=True, slots=True)
class Settings:
    profile: ProfileChoice = "auto"
    window_seconds: float = WINDOW_SECONDS
    warmup_steps: int = WARMUP_STEPS
    console: bool = True  # print the verdict at the end of fit
    progress: bool = False  # one line on stderr that is renewed with every window
    trial: TrialWish | None = None

    def __post_init__(self) -> None:
        if self.profile not in ("auto", True, False):
            raise SettingError(f'profile must be "auto", True or False, not {self.profile!r}')
        if not _is_number(self.window_seconds) or not 0 < self.window_seconds <= 3600:
            raise SettingError(f"window_seconds must be between 0 and 3600, not {self.window_seconds!r}")
        if not isinstance(self.warmup_steps, int) or self.warmup_steps < 0:
            raise SettingError(f"warmup_steps must be a whole number of 0 or more, not {self.warmup_steps!r}")
        for name in ("console", "progress"):
            if not isinstance(getattr(self, name), bool):
                raise SettingError(f"{name} must be True or False, not {getattr(self, name)!r}")


def switched_off() -> bool:
    """FEEDWATCH=0 is the kill switch: nothing is loaded, every hook returns at once."""
    return os.environ.get("FEEDWATCH", "").strip().lower() in ("0", "off", "false", "no")


def switched_on() -> bool:
    """FEEDWATCH=1 adds the callback to every Lightning Trainer without an edit."""
    return os.environ.get("FEEDWATCH", "").strip().lower() in ("1", "on", "true", "yes")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
