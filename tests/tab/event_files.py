"""Event files as feedwatch writes them. They grow by one record per call: the tests' way to a running training."""

import json
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.summary.writer.record_writer import RecordWriter

from feedwatch.report.tensorboard import report_summary


def write_report(
    directory: Path, report: dict[str, Any] | bytes, step: int = 4000, wall_s: float = 1_790_000_900.0
) -> Path:
    """Bytes are written as they are: the tests' way to a damaged report."""
    summary = report_summary("" if isinstance(report, bytes) else json.dumps(report))
    if isinstance(report, bytes):
        summary.value[0].tensor.string_val[0] = report
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"events.out.tfevents.{int(wall_s)}.host.1.0"
    new = not path.exists()
    with path.open("ab") as file:
        records = RecordWriter(file)
        if new:
            records.write(Event(wall_time=wall_s, file_version="brain.Event:2").SerializeToString())
        records.write(Event(step=step, wall_time=wall_s, summary=summary).SerializeToString())
    return path
