"""Ranks of one training that each wrote a run of their own. The tab shows them side by side."""

from typing import Any

from feedwatch.errors import ReportError
from feedwatch.report.json import from_json, to_json
from feedwatch.report.ranks import merge


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
    known = [key for key in keys if key is not None]
    shared = {key for key in set(known) if known.count(key) > 1}
    return [{**row, "group": key if key in shared else None} for row, key in zip(rows, keys, strict=True)]


def siblings_of(run: str, report: dict[str, Any], rows: dict[str, dict[str, Any]]) -> list[str]:
    """The runs of the same group, this one included."""
    key = group_of(run, _world_size(report))
    return [name for name, row in rows.items() if group_of(name, row.get("world_size")) == key]


def with_ranks(run: str, report: dict[str, Any], siblings: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The run's report, with the section that compares it with its siblings."""
    try:
        merged = merge([from_json(other) for other in {**siblings, run: report}.values()])
    except ReportError:
        return report  # because of one damaged sibling the comparison is missing, but not the page
    if merged.ranks is None or merged.ranks.count < 2:
        return report
    section = to_json(merged)["ranks"]
    runs = {other["run"].get("rank"): name for name, other in siblings.items()}
    lines = [{**line, "run": runs.get(line["rank"])} for line in section["lines"]]
    return {**report, "ranks": {**section, "lines": lines}}


def _world_size(report: dict[str, Any]) -> int:
    where = report.get("run")
    size = where.get("world_size") if isinstance(where, dict) else None
    return size if isinstance(size, int) else 1
