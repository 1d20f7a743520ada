"""Nothing of ours raises into training. One guard per part: a part that fails three times is switched off.

Outputs have a guard that never gives up: a full disk may have room again.
"""

import os
import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar

T = TypeVar("T")

# One failure may be a race at shutdown; three of the same part are a defect, and retrying costs the run time.
MAX_FAILURES: Final = 3
# An output that failed is tried again after a second, then after two, four and so on: a disk that was full for some
# seconds costs about as many, and one that stays full costs a call every half minute.
FIRST_PAUSE_NS: Final = 1_000_000_000
LONGEST_PAUSE_NS: Final = 30_000_000_000
# Error texts go into the report, and some libraries put a whole file into theirs.
MAX_TEXT: Final = 300

# Paths in error texts name users, projects and machines. Only the last part of a path is kept.
_QUOTED_PATH: Final = re.compile(r"""(['"])(?:[A-Za-z]:)?[\\/][^'"]*?([^'"\\/]*)[\\/]*\1""")
_PART: Final = r"""[^\s\\/'"()\[\]{}<>|,;:]+"""
_BARE_PATH: Final = re.compile(
    rf"""(?<![\w.~/\\-])(?:file://|~|[A-Za-z]:)?[\\/](?![\\/])(?:{_PART}[\\/]+)+({_PART})?"""
)


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
        self._pause()
        if not self._warned:
            self._warned = True
            self._say(f"feedwatch: {self.part} failed ({told(error)}); training is not affected")

    def _pause(self) -> None:
        self.off = self._failures >= MAX_FAILURES

    def _say(self, text: str) -> None:
        if self._on_failure is not None:
            self._on_failure(text)
        _warn(text)


class Retry(Guard):
    """For an output: after a failure it is left alone for a while, each time for longer, and then tried again."""

    __slots__ = ("_now_ns", "_pause_ns", "_resume_ns", "because")

    def __init__(self, part: str, now_ns: Callable[[], int]) -> None:
        super().__init__(part)
        self.because: str | None = None  # the last failure
        self._now_ns = now_ns
        self._pause_ns = FIRST_PAUSE_NS
        self._resume_ns: int | None = None

    def attempt(self, function: Callable[..., object], *args: Any) -> bool:
        """True: it was done. False: it failed, or is not tried yet."""
        if self._resume_ns is not None and self._now_ns() < self._resume_ns:
            return False
        try:
            function(*args)
        except Exception as error:
            self.because = told(error)
            self.failed(error)
            return False
        self._pause_ns, self._resume_ns = FIRST_PAUSE_NS, None
        return True

    def at_once(self) -> None:
        """The next attempt is made without waiting: for the last report of a run."""
        self._resume_ns = None

    def _pause(self) -> None:
        self._resume_ns = self._now_ns() + self._pause_ns
        self._pause_ns = min(2 * self._pause_ns, LONGEST_PAUSE_NS)


def told(error: BaseException) -> str:
    """The error as one short line. Its class may be the user's own, and its `__str__` may raise."""
    try:
        text = str(error)
    except Exception:
        text = "its text cannot be read"
    return f"{type(error).__name__}: {tame(text)}"


def tame(text: str, limit: int = MAX_TEXT) -> str:
    """One line of bounded length, without absolute paths."""
    start = " ".join(text[: 8 * limit].split())
    line = _BARE_PATH.sub(r"\1", _QUOTED_PATH.sub(r"\1\2\1", start))
    return line if len(line) <= limit else line[: limit - 1] + "…"


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
