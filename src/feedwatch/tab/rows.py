"""The run list's lines, kept, so that a poll of 200 runs unpacks only what is new."""

from typing import Any, Final

from feedwatch.report.html import overview
from feedwatch.tab.reports import report_in, tidy

# About 1 KB each. Whole reports are not kept: opening one costs 2 ms, keeping two hundred would cost 20 MB.
MAX_ROWS: Final = 5000


class Rows:
    def __init__(self) -> None:
        self._rows: dict[str, tuple[tuple[int, float], dict[str, Any]]] = {}

    def of(self, run: str, datum: Any) -> dict[str, Any]:
        version = (int(datum.step), float(datum.wall_time))
        known = self._rows.get(run)
        if known is not None and known[0] == version:
            return known[1]
        row = {**tidy(overview(run, report_in(datum))), "run": run, "step": version[0]}
        if len(self._rows) >= MAX_ROWS:
            self._rows.pop(next(iter(self._rows)), None)
        self._rows[run] = (version, row)
        return row
