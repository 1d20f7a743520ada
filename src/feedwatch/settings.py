"""What a user may choose. Wrong values raise here, at construction, before the first step."""

import os
from dataclasses import dataclass
from typing import Final, Literal

from feedwatch.errors import SettingError

ProfileChoice = Literal["auto"] | bool

# A window folds about a second: long enough that one number per window costs nothing, short enough to be live.
WINDOW_SECONDS: Final = 1.0
# Tracing, allocator growth and autotuning settle within the first calls; epochs and shuffles are kept apart by kind.
WARMUP_STEPS: Final = 3


@dataclass(frozen=True, slots=True)
class Settings:
    profile: ProfileChoice = "auto"
    window_seconds: float = WINDOW_SECONDS
    warmup_steps: int = WARMUP_STEPS
    console: bool = True  # print the verdict at the end of fit

    def __post_init__(self) -> None:
        if self.profile not in ("auto", True, False):
            raise SettingError(f'profile must be "auto", True or False, not {self.profile!r}')
        if not _is_number(self.window_seconds) or not 0 < self.window_seconds <= 3600:
            raise SettingError(f"window_seconds must be between 0 and 3600, not {self.window_seconds!r}")
        if not isinstance(self.warmup_steps, int) or self.warmup_steps < 0:
            raise SettingError(f"warmup_steps must be a whole number of 0 or more, not {self.warmup_steps!r}")
        if not isinstance(self.console, bool):
            raise SettingError(f"console must be True or False, not {self.console!r}")


def switched_off() -> bool:
    """FEEDWATCH=0 is the kill switch: nothing is loaded, every hook returns at once."""
    return os.environ.get("FEEDWATCH", "").strip().lower() in ("0", "off", "false", "no")


def switched_on() -> bool:
    """FEEDWATCH=1 adds the callback to every Lightning Trainer without an edit."""
    return os.environ.get("FEEDWATCH", "").strip().lower() in ("1", "on", "true", "yes")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
