"""Nothing of ours raises into training. One guard per part: a part that fails three times is switched off."""

import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar

T = TypeVar("T")

# One failure may be a race at shutdown; three of the same part are a defect, and retrying costs the run time.
MAX_FAILURES: Final = 3


class FeedwatchWarning(UserWarning):
    """One per cause and run."""


def strict() -> bool:
    """FEEDWATCH_STRICT=1 re-raises: the test suite runs so, and no swallowed error can hide in it."""
    return os.environ.get("FEEDWATCH_STRICT", "") == "1"


class Guard:
    """Runs one part's code. Catches Exception only: KeyboardInterrupt and SystemExit are the user's."""

    __slots__ = ("_failures", "_on_failure", "_warned", "off", "part")

    def __init__(self, part: str, on_failure: Callable[[str], None] | None = None) -> None:
        self.part = part
        self.off = False
        self._failures = 0
        self._warned = False
        self._on_failure = on_failure

    def run(self, function: Callable[..., T], *args: Any) -> T | None:
        # No keywords: making an empty dict for them would cost as much as the mark itself.
        if self.off:
            return None
        try:
            return function(*args)
        except Exception as error:
            self.failed(error)
            return None

    def failed(self, error: Exception) -> None:
        """For code that must catch by itself; same counting, same single warning."""
        if strict():
            raise error
        self._failures += 1
        self.off = self._failures >= MAX_FAILURES
        if not self._warned:
            self._warned = True
            self._say(f"feedwatch: {self.part} failed ({type(error).__name__}: {error}); training is not affected")

    def _say(self, text: str) -> None:
        if self._on_failure is not None:
            self._on_failure(text)
        _warn(text)


def warn_once(seen: set[str], text: str) -> None:
    """One line per cause and run, for what is worth saying but is not a failure."""
    if text in seen:
        return
    seen.add(text)
    _warn(f"feedwatch: {text}")


def _warn(text: str) -> None:
    # Under `-W error` a warning is an exception, and it must not end training.
    with suppress(Exception):
        warnings.warn(text, FeedwatchWarning, stacklevel=4)
