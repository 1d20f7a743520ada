"""Reading a run back: report.json where it is, else the last snapshot in the run's event files."""

import os
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final

from feedwatch.errors import ReportError
from feedwatch.model.report import Report
from feedwatch.report.json import RANK_FILES, REPORT_FILE, loads
from feedwatch.report.ranks import merge

# A report is about 100 kB; a file in a shared directory may be anything.
MAX_REPORT_BYTES: Final = 4 << 20
MAX_EVENT_FILE_BYTES: Final = 1 << 30
# Reading a thousand files would take the first rank a second each time during training. The command line reads all.
MAX_LIVE_RANKS: Final = 64


def load_run(path: Path) -> Report:
    """All ranks of the run, merged. Raises ReportError with one clear line."""
    return merge(load_ranks(path))


def load_siblings(directory: Path, own: Report) -> list[Report]:
    """The reports of the other ranks of a run that is still under way, as far as they have been written."""
    found = []
    for file in sorted(directory.glob(RANK_FILES))[:MAX_LIVE_RANKS]:
        with suppress(ReportError):  # a file of another feedwatch version is left out
            found.append(_from_json_file(file))
    return [report for report in found if report.run.rank != own.run.rank]


def load_ranks(path: Path) -> list[Report]:
    if not path.exists():
        raise ReportError(f"no run there: {path}")
    if path.is_file():
        return [_from_file(path)]
    for directory in (path, path / "feedwatch"):
        reports = [_from_json_file(file) for file in _report_files(directory)]
        if reports:
            return reports
    for directory in (path, path / "feedwatch"):
        report = _from_event_files(directory)
        if report is not None:
            return [report]
    raise ReportError(_nothing_here(path))


def _report_files(directory: Path) -> list[Path]:
    if not directory.is_dir():
        return []
    first = directory / REPORT_FILE
    return ([first] if first.is_file() else []) + sorted(directory.glob(RANK_FILES))


def _from_file(path: Path) -> Report:
    if "tfevents" in path.name:
        report = _last_in_event_file(path)
        if report is None:
            raise ReportError(f"no feedwatch report in this event file: {path}")
        return report
    return _from_json_file(path)


def _from_json_file(path: Path) -> Report:
    try:
        if path.stat().st_size > MAX_REPORT_BYTES:
            raise ReportError(f"{path} is larger than a report can be")
        return loads(path.read_bytes())
    except OSError as error:
        raise ReportError(f"cannot read {path}: {error.strerror}") from None
    except ReportError as error:
        raise ReportError(f"{path}: {error}") from None


def _from_event_files(directory: Path) -> Report | None:
    if not directory.is_dir():
        return None
    files = sorted(directory.glob("*tfevents*"), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files:
        report = _last_in_event_file(file)
        if report is not None:
            return report
    return None


def _last_in_event_file(path: Path) -> Report | None:
    """The newest whole snapshot. A broken tail hides only what comes after it."""
    if path.stat().st_size > MAX_EVENT_FILE_BYTES:
        raise ReportError(f"{path} is larger than {MAX_EVENT_FILE_BYTES >> 20} MiB")
    # Imported here: it takes longer than reading a report.json, which most runs have.
    from feedwatch.report.tensorboard import snapshots

    last: bytes | None = None
    for packed in snapshots(path):
        last = packed
    return None if last is None else loads(_unpack(last, path))


def _unpack(packed: bytes, path: Path) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(packed, MAX_REPORT_BYTES)
    except zlib.error:
        raise ReportError(f"{path}: the report in it is damaged") from None
    if unpacker.unconsumed_tail:
        raise ReportError(f"{path}: the report in it is larger than a report can be")
    return text


def _nothing_here(path: Path) -> str:
    runs = []
    for found, _, names in os.walk(path):
        if REPORT_FILE in names:
            runs.append(found.removesuffix("/feedwatch"))
        if len(runs) >= 5:
            break
    if runs:
        return f"no feedwatch report in {path} itself; runs below it: {', '.join(sorted(runs))}"
    return f"no feedwatch report in {path}: was FeedWatch among the callbacks?"
