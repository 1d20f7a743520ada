"""One line that is renewed with every window, on request: `progress=True`. The sink's thread writes it."""

import sys
import time
from collections.abc import Mapping
from typing import Any, Final

from feedwatch.model.report import Report
from feedwatch.words import ms, number, percent

# A log file has no line that could be renewed: it gets a new one, rarely.
LOG_SECONDS: Final = 60.0
CLEAR: Final = "\r\x1b[K"


class ProgressLine:
    """An output like the curves: it is given what they are given."""

    def __init__(self, stream: Any = None) -> None:
        self._given = stream
        self._renewed = False  # a line stands in the terminal that the next one replaces
        self._logged_s: float | None = None

    def scalars(self, step: int, values: Mapping[str, float], wall_s: float) -> None:  # noqa: ARG002 -- an Output
        stream, line = self._stream(), progress_text(step, values)
        if _renews(stream):
            stream.write(f"{CLEAR}{line}")
            stream.flush()
            self._renewed = True
        elif self._logged_s is None or time.monotonic() - self._logged_s >= LOG_SECONDS:
            self._logged_s = time.monotonic()
            stream.write(f"{line}\n")
            stream.flush()

    def advice(self, step: int, markdown: str, wall_s: float) -> None: ...
    def report(self, step: int, report: Report, wall_s: float) -> None: ...
    def flush(self) -> None: ...

    def close(self) -> None:
        """The verdict that follows says more."""
        if self._renewed:
            self._stream().write(CLEAR)
            self._stream().flush()
            self._renewed = False

    def _stream(self) -> Any:
        return sys.stderr if self._given is None else self._given  # asked late: notebooks exchange it


def progress_text(step: int, values: Mapping[str, float]) -> str:
    waiting = percent(values.get("feedwatch/stall_ratio"))
    each = ms(values.get("feedwatch/step_ms"))
    rate = number(values.get("feedwatch/samples_per_s"))
    return f"feedwatch: step {number(step)}, waiting for input {waiting}, {each} per step, {rate} samples/s"


def _renews(stream: Any) -> bool:
    """A terminal, or a notebook's cell."""
    return bool(getattr(stream, "isatty", bool)()) or type(stream).__module__.startswith("ipykernel.")
