"""Event files as feedwatch writes them, with TensorBoard's own messages and record framing."""

import json
import zlib
from pathlib import Path
from typing import Any

from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, types_pb2
from tensorboard.summary.writer.record_writer import RecordWriter


def write_report(
    directory: Path, report: dict[str, Any] | bytes, step: int = 4000, wall_s: float = 1_790_000_900.0
) -> Path:
    """Bytes are written as they are: the tests' way to a damaged report."""
    payload = report if isinstance(report, bytes) else zlib.compress(json.dumps(report).encode())
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"events.out.tfevents.{int(wall_s)}.host.1.0"
    new = not path.exists()
    with path.open("ab") as file:
        records = RecordWriter(file)
        if new:
            records.write(event_pb2.Event(wall_time=wall_s, file_version="brain.Event:2").SerializeToString())
        records.write(_event(payload, step, wall_s).SerializeToString())
    return path


def _event(payload: bytes, step: int, wall_s: float) -> event_pb2.Event:
    metadata = summary_pb2.SummaryMetadata(
        plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name="feedwatch"),
        data_class=summary_pb2.DATA_CLASS_TENSOR,
    )
    tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=[payload])
    value = summary_pb2.Summary.Value(tag="feedwatch/report", metadata=metadata, tensor=tensor)
    return event_pb2.Event(step=step, wall_time=wall_s, summary=summary_pb2.Summary(value=[value]))
