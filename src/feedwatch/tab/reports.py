"""What an event file holds, as a report that is safe to pass on, and as a line of the run list.

Event files in a shared log directory are untrusted: the size is checked first, then the shape. A damaged report becomes
a sentence, not an exception.
"""

import json
import zlib
from typing import Any, Final

from feedwatch.model.report import READABLE_SCHEMAS, SCHEMA
from feedwatch.report.html import overview
from feedwatch.report.json import MAX_NUMBER, MAX_TEXT
from feedwatch.report.load import MAX_REPORT_BYTES

MAX_DEPTH: Final = 12
MAX_ITEMS: Final = 1000
# About 1 KB each. Whole reports are not kept: opening one costs 2 ms, keeping two hundred would cost 20 MB.
MAX_ROWS: Final = 5000


def report_in(datum: Any) -> dict[str, Any]:
    """The report in one point of the series. Its values may be of any type: `tidy` them before they are passed on."""
    try:
        value = datum.numpy.item()
    except Exception:
        return decode(None)  # not a rank-0 tensor
    # The Python reader gives str where every byte is text.
    return decode(value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value)


def decode(raw: object) -> dict[str, Any]:
    """The report, or `{"error": sentence}`. Never raises."""
    if not isinstance(raw, bytes):
        return {"error": "This run's report is not a string: the event file was not written by feedwatch."}
    try:
        text = raw if raw[:1] == b"{" else _inflate(raw)
        if len(text) > MAX_REPORT_BYTES:
            return {"error": f"This run's report is larger than {MAX_REPORT_BYTES >> 20} MiB and was not read."}
        value = json.loads(text)
    except Exception as problem:
        return {"error": f"This run's report is damaged ({type(problem).__name__})."}
    if not isinstance(value, dict):
        return {"error": "This run's report is damaged (not an object)."}
    return value if value.get("schema") in READABLE_SCHEMAS else {"error": _other_schema(value)}


def _inflate(raw: bytes) -> bytes:
    """Unpacks one byte more than allowed at most, which is enough to refuse a compressed bomb."""
    return zlib.decompressobj().decompress(raw, MAX_REPORT_BYTES + 1)


def _other_schema(value: dict[str, Any]) -> str:
    wrote, schema = value.get("feedwatch"), value.get("schema")
    writer = f"feedwatch {wrote[:40]}" if isinstance(wrote, str) and wrote else "another feedwatch"
    shown = schema if isinstance(schema, int) else "unknown"
    return (
        f"This report was written by {writer} (schema {shown}); this tab reads schemas 1 to {SCHEMA}. "
        "Install the same version where TensorBoard runs."
    )


def tidy(value: Any, depth: int = 0) -> Any:
    """The value, bounded in depth, length, text and number. What is no number that can be becomes unknown."""
    if isinstance(value, str):
        return value[:MAX_TEXT]
    if isinstance(value, int | float):
        return value if abs(value) <= MAX_NUMBER else None  # NaN is not, either
    if depth >= MAX_DEPTH and isinstance(value, dict | list):
        return None
    if isinstance(value, list):
        return [tidy(item, depth + 1) for item in value[:MAX_ITEMS]]
    if isinstance(value, dict):
        kept = list(value.items())[:MAX_ITEMS]
        return {key[:MAX_TEXT]: tidy(item, depth + 1) for key, item in kept}
    return value


class Rows:
    """The lines of the run list. They are kept, so that a poll of 200 runs unpacks only what is new."""

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
