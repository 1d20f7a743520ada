"""report.json: always whole, whoever reads it and whenever the process dies."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from feedwatch.model.report import Report
from feedwatch.report.json_form import dumps

REPORT_FILE: Final = "report.json"
RANK_FILES: Final = "report.rank*.json"


def report_file_name(rank: int) -> str:
    """One file per rank: no rank waits for another, whoever reads merges."""
    return REPORT_FILE if rank == 0 else f"report.rank{rank:05d}.json"


def write_report_file(directory: Path, report: Report) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / report_file_name(report.run.rank)
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.write_text(dumps(report), encoding="utf-8")
        draft.replace(path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise
    return path
