"""Ranks of one training run: each writes its own file, whoever reads puts them side by side."""

from typing import Any

SHOWN_RANKS = 16


def one_of_many(report: dict[str, Any]) -> bool:
    return _world_size(report) > 1 and not report.get("ranks")


def group_of(run: str, world_size: object) -> str | None:
    """Runs of several ranks in one directory belong together; a run of one rank belongs to nobody."""
    if not isinstance(world_size, int) or world_size < 2:
        return None
    return run.rpartition("/")[0]


def grouped(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each row with the group it belongs to; a group of one is no group."""
    keys = [group_of(row["run"], row.get("world_size")) for row in rows]
    shared = {key for key in keys if key is not None and keys.count(key) > 1}
    return [{**row, "group": key if key in shared else None} for row, key in zip(rows, keys, strict=True)]


def with_ranks(run: str, reports: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The run's report with the section that sets it beside its siblings."""
    report = reports[run]
    world_size = _world_size(report)
    key = group_of(run, world_size)
    lines = [
        _line(name, other)
        for name, other in reports.items()
        if _world_size(other) == world_size and group_of(name, world_size) == key
    ]
    return {**report, "ranks": _section(lines, world_size)} if len(lines) > 1 else report


def _section(lines: list[dict[str, Any]], world_size: int) -> dict[str, Any]:
    waits = sorted(line["input_wait_ms"] for line in lines if isinstance(line["input_wait_ms"], int | float))
    ranked = sorted(lines, key=lambda line: -(line["input_wait_ms"] or 0.0))
    return {
        "count": len(lines),
        "world_size": world_size,
        "missing": max(0, world_size - len(lines)),
        "slowest": ranked[0] if waits else None,
        "median_input_wait_ms": waits[len(waits) // 2] if waits else None,
        "max_input_wait_ms": waits[-1] if waits else None,
        "lines": ranked[:SHOWN_RANKS],
    }


def _line(run: str, report: dict[str, Any]) -> dict[str, Any]:
    verdict = report.get("verdict") or {}
    wait = (report.get("phases") or {}).get("input_wait") or {}
    return {
        "run": run,
        "rank": report["run"].get("rank"),
        "stall_ratio": verdict.get("stall_ratio"),
        "step_ms": verdict.get("step_ms"),
        "input_wait_ms": wait.get("ms"),
    }


def _world_size(report: dict[str, Any]) -> int:
    where = report.get("run")
    size = where.get("world_size") if isinstance(where, dict) else None
    return size if isinstance(size, int) else 1
