"""Ranks of one training that each wrote a run of their own. The tab shows them side by side."""

from collections import Counter
from itertools import islice
from typing import Any, Final

from feedwatch.errors import ReportError
from feedwatch.model.report import Report
from feedwatch.report.json import from_json, to_json
from feedwatch.report.ranks import merge

# Each of them is opened, for one page.
MAX_SIBLINGS: Final = 256


def one_of_many(report: dict[str, Any]) -> bool:
    """A rank whose report does not hold the other ranks yet."""
    return _world_size(report) > 1 and not report.get("ranks")


def group_of(run: str, world_size: object) -> str | None:
    """The directory: runs of several ranks in one directory belong together. A run of one rank has no group."""
    if not isinstance(world_size, int) or world_size < 2:
        return None
    return run.rpartition("/")[0]


def grouped(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each row with the group it belongs to. A rank whose siblings are missing has no group."""
    keys = [group_of(row["run"], row.get("world_size")) for row in rows]
    shared = {key for key, runs in Counter(keys).items() if key is not None and runs > 1}
    return [{**row, "group": key if key in shared else None} for row, key in zip(rows, keys, strict=True)]


def siblings_of(run: str, report: dict[str, Any], rows: dict[str, dict[str, Any]]) -> list[str]:
    """The runs of the same group, this one included."""
    key = group_of(run, _world_size(report))
    found = (name for name, row in rows.items() if group_of(name, row.get("world_size")) == key)
    return list(islice(found, MAX_SIBLINGS))


def with_ranks(run: str, report: dict[str, Any], siblings: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The run's report, with the section that compares it with its siblings. A damaged sibling is missing in it."""
    read = {name: _read(other) for name, other in {**siblings, run: report}.items()}
    known = {name: other for name, other in read.items() if other is not None}
    if run not in known:
        return report
    merged = merge([*known.values()])
    if merged.ranks is None or merged.ranks.count < 2:
        return report
    section = to_json(merged)["ranks"]
    runs = {other.run.rank: name for name, other in known.items()}
    lines = [{**line, "run": runs.get(line["rank"])} for line in section["lines"]]
    return {**report, "ranks": {**section, "lines": lines}}


def _read(report: dict[str, Any]) -> Report | None:
    try:
        return from_json(report)
    except ReportError:
        return None


def _world_size(report: dict[str, Any]) -> int:
    where = report.get("run")
    size = where.get("world_size") if isinstance(where, dict) else None
    return size if isinstance(size, int) else 1
