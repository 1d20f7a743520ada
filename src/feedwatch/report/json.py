"""The report as JSON and back, and report.json, the file that is always whole.

Reading validates: every field is checked against the type that the report's own class declares.
"""

import json
import math
import time
import types
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from feedwatch.errors import ReportError
from feedwatch.files import MAX_ENTRIES, listed, remove, rename, replace_file
from feedwatch.model.report import READABLE_SCHEMAS, SCHEMA, Report

REPORT_FILE: Final = "report.json"
RANK_FILES: Final = "report.rank*.json"

# A script that calls fit in a loop must not fill the disk.
KEPT_REPORTS: Final = 20

# No quantity of ours is larger. A number beyond it cannot be calculated with and comes from a damaged or hostile file.
MAX_NUMBER: Final = 1e18
# A name, a path in the user's code, a fix of some lines: far shorter. Longer texts are cut off when they are written.
MAX_TEXT: Final = 20_000

# "self" is no name for a Python field.
_JSON_NAMES: Final = {"self_cost": "self"}


def to_json(report: Report) -> dict[str, Any]:
    encoded: dict[str, Any] = {"schema": report.schema, "feedwatch": report.feedwatch}
    encoded.update(_encode(report))
    return encoded


def encoded(value: Any) -> Any:
    """Any of our values, as JSON takes it."""
    return _encode(value)


def dumps(report: Report) -> str:
    return json.dumps(to_json(report), ensure_ascii=False, allow_nan=False)


def from_json(data: object) -> Report:
    if not isinstance(data, dict):
        raise ReportError("not a feedwatch report: it is not an object")
    if data.get("schema") not in READABLE_SCHEMAS:
        raise ReportError(
            f"report schema {data.get('schema')!r}, this feedwatch reads schemas 1 to {SCHEMA}: update feedwatch"
        )
    try:
        report = _decode(Report, data, "report")
    except RecursionError:
        raise ReportError("not a feedwatch report: nested too deeply") from None
    assert isinstance(report, Report)
    series = report.series
    columns = (series.input_wait, series.h2d, series.compute, series.other)
    if any(len(column) not in (0, len(series.step)) for column in columns):
        raise ReportError("not a feedwatch report: the columns of its series have different lengths")
    return report


def loads(text: str | bytes) -> Report:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ReportError(f"not a feedwatch report: {error}") from None
    return from_json(data)


def report_file_name(rank: int) -> str:
    """One file per rank, so that no rank waits for another. The reader merges them."""
    return REPORT_FILE if rank == 0 else f"report.rank{rank:05d}.json"


def write_report_file(directory: Path, report: Report) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / report_file_name(report.run.rank)
    replace_file(path, dumps(report).encode())
    return path


def keep_earlier(directory: Path, rank: int) -> None:
    """The report of a run that wrote here before gets a name of its own: the next report would replace it."""
    path = directory / report_file_name(rank)
    try:
        ended_s = path.lstat().st_mtime
    except OSError:
        return
    when = time.strftime("%Y%m%d-%H%M%S", time.gmtime(ended_s)) + f".{int(ended_s % 1 * 1000):03d}"
    rename(path, f"before-{when}-{path.name}")
    for old in listed(directory, f"before-*-{path.name}", MAX_ENTRIES)[:-KEPT_REPORTS]:
        remove(old)


def clean(text: str) -> str:
    """Without terminal escapes and lone surrogates: names come from other people's code and files."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


def _encode(value: Any) -> Any:
    if isinstance(value, Enum):  # before str: ours are both
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {_JSON_NAMES.get(f.name, f.name): _encode(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, dict):
        return {clean(str(key)): _encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encode(item) for item in value]
    if isinstance(value, str):
        return clean(value[:MAX_TEXT])
    if isinstance(value, float):
        # NaN and infinity are no JSON, and no measurement either.
        return value if math.isfinite(value) else None
    return value


@lru_cache(maxsize=64)
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _decode(expected: Any, value: Any, where: str) -> Any:
    if expected is Any:
        return value
    origin = get_origin(expected)
    if origin in (Union, types.UnionType):
        return _decode_union(get_args(expected), value, where)
    if origin is tuple:
        return tuple(_decode(get_args(expected)[0], item, where) for item in _must_be(list, value, where))
    if origin is dict:
        item_type = get_args(expected)[1]
        items = _must_be(dict, value, where).items()
        return {str(key): _decode(item_type, item, f"{where}.{key}") for key, item in items}
    if is_dataclass(expected) and isinstance(expected, type):
        return _decode_dataclass(expected, _must_be(dict, value, where), where)
    return _decode_plain(expected, value, where)


def _decode_union(options: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and type(None) in options:
        return None
    for option in options:
        if option is type(None):
            continue
        try:
            return _decode(option, value, where)
        except ReportError:
            if option is options[-1] or len(options) == 2:
                raise
    raise ReportError(f"{where} has a value of the wrong kind")


def _decode_dataclass(cls: type, data: dict[str, Any], where: str) -> Any:
    values: dict[str, Any] = {}
    for field in fields(cls):
        key = _JSON_NAMES.get(field.name, field.name)
        if key in data:
            values[field.name] = _decode(_hints(cls)[field.name], data[key], f"{where}.{key}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ReportError(f"{where}.{key} is missing")
    return cls(**values)


def _decode_plain(expected: Any, value: Any, where: str) -> Any:
    if isinstance(expected, type) and issubclass(expected, Enum):
        try:
            return expected(value)
        except ValueError:
            raise ReportError(f"{where} is {str(value)[:40]!r}, which this feedwatch does not know") from None
    if isinstance(value, (int, float)) and not abs(value) <= MAX_NUMBER:  # NaN is not, either
        raise ReportError(f"{where} is not a number that can be")
    if expected is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if expected is str and isinstance(value, str):
        return clean(value)
    if isinstance(value, expected) and not (expected is int and isinstance(value, bool)):
        return value
    raise ReportError(f"{where} should be {expected.__name__}, not {type(value).__name__}")


def _must_be(kind: type, value: Any, where: str) -> Any:
    if not isinstance(value, kind):
        raise ReportError(f"{where} should be a {kind.__name__}, not {type(value).__name__}")
    return value
