"""Reading a run back: report.json where it is, else the last snapshot in the run's event files.

A log directory is often shared, so every file in it may be damaged or hostile. The limits below hold for whatever lies
there, and one bad file costs the others nothing (docs/limits.md).
"""

import time
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from feedwatch.errors import ReportError
from feedwatch.files import listed, opened, read_file, subdirectories
from feedwatch.guard import tame
from feedwatch.model.report import PipelineSection, Report, SeriesSection
from feedwatch.report.json import RANK_FILES, REPORT_FILE, loads
from feedwatch.report.ranks import merge

EVENT_FILES: Final = "*tfevents*"

# A report is about 100 kB.
MAX_REPORT_BYTES: Final = 4 << 20
MAX_EVENT_FILE_BYTES: Final = 1 << 30
MAX_RANK_FILES: Final = 4096
MAX_EVENT_FILES: Final = 64
# Of all files together. A thousand ranks with usual reports take a second.
MAX_READ_BYTES: Final = 1 << 30
MAX_READ_SECONDS: Final = 10.0
# The first rank reads the others' files every half minute, during training: fewer, and smaller ones.
MAX_LIVE_RANKS: Final = 64
MAX_LIVE_BYTES: Final = 8 << 20
# Parsing holds Python's lock: a neighbour's file of this size costs training some milliseconds.
MAX_LIVE_REPORT_BYTES: Final = 1 << 20
MAX_LIVE_SECONDS: Final = 1.0
# Where a directory holds no report, these many directories and levels below it are searched for the names of runs.
MAX_SEARCHED: Final = 2000
MAX_DEPTH: Final = 6
MAX_NAMED: Final = 5


class RankFile(NamedTuple):
    path: Path
    report: Report


class Budget:
    """What is left to read, in bytes and seconds."""

    def __init__(self, most_bytes: int = MAX_READ_BYTES, seconds: float = MAX_READ_SECONDS) -> None:
        self._bytes = most_bytes
        self._until_s = time.monotonic() + seconds

    def spend(self, size_bytes: int) -> None:
        self._bytes -= size_bytes
        if self.spent:
            raise ReportError("reading takes too long: give a run's own directory, or its report.json")

    @property
    def spent(self) -> bool:
        return self._bytes < 0 or time.monotonic() > self._until_s


def load_run(path: Path) -> Report:
    """All ranks of the run, merged. Raises ReportError with one clear line."""
    budget = Budget()
    if not _exists(path):
        raise ReportError(f"no run there: {path}")
    if not path.is_dir():
        return merge([_from_file(path, budget)])
    problem: ReportError | None = None
    for read in (_from_report_files, _from_event_files):
        for directory in (path, path / "feedwatch"):
            try:
                report = read(directory, budget)
            except ReportError as error:
                problem = problem or error
                continue
            if report is not None:
                return report
    raise problem or ReportError(_nothing_here(path, budget))


def load_siblings(directory: Path, own: Report) -> list[Report]:
    """The reports of the other ranks of a run that is still under way, as far as they have been written."""
    found = []
    budget = Budget(MAX_LIVE_BYTES, MAX_LIVE_SECONDS)
    for file in listed(directory, RANK_FILES, MAX_LIVE_RANKS):
        if budget.spent:
            break
        try:
            report = _from_json_file(file, budget, MAX_LIVE_REPORT_BYTES)
        except ReportError:
            continue  # damaged, or of another feedwatch: this rank is missing
        if report.run.rank != own.run.rank:
            found.append(report)
    return found


# -- report files --------------------------------------------------------------------------------


def _from_report_files(directory: Path, budget: Budget) -> Report | None:
    """None where there is none. A file that cannot be read is said in the notes, unless nothing else is there."""
    read = [(file, _rank(file, budget)) for file in _report_files(directory)]
    ranks = [RankFile(file, found) for file, found in read if isinstance(found, Report)]
    problems = [str(found) for _, found in read if isinstance(found, ReportError)]
    if not ranks:
        if problems:
            raise ReportError(problems[0])
        return None
    merged = merge([rank.report for rank in ranks])
    leader = next(rank.path for rank in ranks if rank.report.run == merged.run)
    return _with_details(merged, _from_json_file(leader, Budget()), problems)


def _report_files(directory: Path) -> list[Path]:
    first = directory / REPORT_FILE
    return [first] * _exists(first) + listed(directory, RANK_FILES, MAX_RANK_FILES)


def _rank(path: Path, budget: Budget) -> Report | ReportError:
    """Its report without the details, or what is wrong with it."""
    try:
        return _without_details(_from_json_file(path, budget))
    except ReportError as error:
        return error


def _without_details(report: Report) -> Report:
    """What a comparison of ranks needs. A thousand histories would fill the memory."""
    return replace(report, series=SeriesSection(), pipeline=PipelineSection(report.pipeline.kind), findings=())


def _with_details(merged: Report, leader: Report, problems: list[str]) -> Report:
    notes = leader.self_cost.notes
    if problems:
        rest = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
        notes += (f"a rank's report cannot be read: {tame(problems[0])}{rest}",)
    return replace(
        leader,
        status=merged.status,
        ranks=merged.ranks,
        findings=(*merged.findings, *leader.findings),
        self_cost=replace(leader.self_cost, notes=notes),
    )


def _from_file(path: Path, budget: Budget) -> Report:
    if "tfevents" not in path.name:
        return _from_json_file(path, budget)
    report = _last_in_event_file(path, budget)
    if report is None:
        raise ReportError(f"no feedwatch report in this event file: {path}")
    return report


def _from_json_file(path: Path, budget: Budget, most_bytes: int = MAX_REPORT_BYTES) -> Report:
    budget.spend(0)
    data = read_file(path, most_bytes)
    budget.spend(len(data))
    return _loaded(data, path)


def _loaded(data: bytes, path: Path) -> Report:
    try:
        return loads(data)
    except ReportError as error:
        raise ReportError(f"{path}: {error}") from None


# -- event files ---------------------------------------------------------------------------------


def _from_event_files(directory: Path, budget: Budget) -> Report | None:
    """The newest file that holds a report. Damaged ones are passed over, unless nothing else is there."""
    problem: ReportError | None = None
    files = listed(directory, EVENT_FILES, MAX_EVENT_FILES, last=True)  # their names begin with the time
    for file in sorted(files, key=_written_s, reverse=True):
        try:
            report = _last_in_event_file(file, budget)
        except ReportError as error:
            problem = problem or error
            continue
        if report is not None:
            return merge([report])
    if problem is not None:
        raise problem
    return None


def _written_s(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _last_in_event_file(path: Path, budget: Budget) -> Report | None:
    """The newest whole snapshot. A broken tail hides only what comes after it."""
    # Imported here: it takes longer than reading a report.json, which most runs have.
    from feedwatch.report.tensorboard import read_records, snapshots

    last: bytes | None = None
    with opened(path, MAX_EVENT_FILE_BYTES) as file:
        for packed in snapshots(_metered(read_records(file), budget)):
            last = packed
    return None if last is None else _loaded(_unpack(last, path), path)


def _metered(records: Iterable[bytes], budget: Budget) -> Iterator[bytes]:
    for record in records:
        budget.spend(len(record))
        yield record


def _unpack(packed: bytes, path: Path) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(packed, MAX_REPORT_BYTES)
    except zlib.error:
        raise ReportError(f"{path}: the report in it is damaged") from None
    if unpacker.unconsumed_tail:
        raise ReportError(f"{path}: the report in it is larger than a report can be")
    return text


# -- where there is none -------------------------------------------------------------------------


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def _nothing_here(path: Path, budget: Budget) -> str:
    runs = sorted(_runs_below(path, budget))
    if runs:
        return f"no feedwatch report in {path} itself; runs below it: {', '.join(runs)}"
    return f"no feedwatch report in {path}: was FeedWatch among the callbacks?"


def _runs_below(path: Path, budget: Budget) -> list[str]:
    """The nearest ones."""
    runs: list[str] = []
    waiting, searched = deque([(path, 0)]), 0
    while waiting and len(runs) < MAX_NAMED and searched < MAX_SEARCHED and not budget.spent:
        directory, depth = waiting.popleft()
        searched += 1
        if _exists(directory / REPORT_FILE):
            runs.append(str(directory.parent if directory.name == "feedwatch" else directory))
        if depth < MAX_DEPTH:
            waiting.extend((child, depth + 1) for child in subdirectories(directory, MAX_SEARCHED - len(waiting)))
    return runs
