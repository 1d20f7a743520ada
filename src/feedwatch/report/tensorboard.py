"""The run in TensorBoard: scalars, advice and the report as summaries, and the event file that we write ourselves.

This is the only module that frames event records. It uses TensorBoard's messages and record framing, and neither
TensorFlow nor torch is imported. TensorBoard's own EventFileWriter would import TensorFlow where it is installed, wait
for a slow disk, and raise into its caller when the disk is full.
"""

import os
import socket
import struct
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import (
    DATA_CLASS_SCALAR,
    DATA_CLASS_TENSOR,
    Summary,
    SummaryMetadata,
)
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.summary.writer.record_writer import RecordWriter

from feedwatch.files import create, write_all
from feedwatch.model.report import Report, Status
from feedwatch.report.json import dumps
from feedwatch.report.scalars import DESCRIPTIONS

PLUGIN: Final = "feedwatch"
REPORT_TAG: Final = "feedwatch/report"
ADVICE_TAG: Final = "feedwatch/advice"

# No record is larger, TensorBoard's own images included. A larger length is damage.
MAX_RECORD_BYTES: Final = 256 << 20
# The largest record of ours is a compressed report.
MAX_REPORT_RECORD_BYTES: Final = 8 << 20
# Every event has a time, which takes nine bytes. A file of zeros would be a billion records of no length.
MIN_RECORD_BYTES: Final = 9
# Of one run. digest.py writes more and more rarely, so that only a run of months gets here.
MAX_RUN_BYTES: Final = 50_000_000

WriteSummary = Callable[[int, Summary, float], None]


class SummaryOutput:
    """An Output on top of any function that writes one Summary: our own file or the user's writer."""

    def __init__(
        self,
        write: WriteSummary,
        flush: Callable[[], None] | None = None,
        close: Callable[[], None] | None = None,
    ) -> None:
        self._write = write
        self._flush = flush
        self._close = close
        self._described: set[str] = set()
        self._bytes = 0

    def scalars(self, step: int, values: Mapping[str, float], wall_s: float) -> None:
        """One Event with all values: one call per scalar would cost ten times as much."""
        summary = Summary()
        for tag, value in values.items():
            entry = summary.value.add(tag=tag, simple_value=value)
            if tag not in self._described:
                # Readers keep the first metadata of a tag. Repeating it would only make the file larger.
                entry.metadata.CopyFrom(_scalar_metadata(tag))
        self._put(step, summary, wall_s)
        self._described.update(values)

    def advice(self, step: int, markdown: str, wall_s: float) -> None:
        self._put(step, text_summary(ADVICE_TAG, markdown), wall_s)

    def report(self, step: int, report: Report, wall_s: float) -> None:
        self._put(step, report_summary(dumps(report)), wall_s, last=report.status is not Status.RUNNING)

    def _put(self, step: int, summary: Summary, wall_s: float, *, last: bool = False) -> None:
        size_bytes = summary.ByteSize()
        if last or self._bytes + size_bytes <= MAX_RUN_BYTES:
            self._write(step, summary, wall_s)
            self._bytes += size_bytes

    def flush(self) -> None:
        if self._flush is not None:
            self._flush()

    def close(self) -> None:
        if self._close is not None:
            self._close()


def own_run(directory: Path) -> SummaryOutput:
    """A run of our own. A second event file in the user's run directory would freeze their curves in TensorBoard."""
    file = EventFile(directory)
    return SummaryOutput(file.write, close=file.close)


def text_summary(tag: str, text: str) -> Summary:
    metadata = SummaryMetadata(data_class=DATA_CLASS_TENSOR, summary_description="What feedwatch advises.")
    metadata.plugin_data.plugin_name = "text"
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=_string(text.encode(), TensorShapeProto()))])


def report_summary(report_json: str) -> Summary:
    """Compressed, because the record's checksum is pure Python and costs 0.2 µs per byte."""
    # Without a data class neither of TensorBoard's readers shows the series at all.
    metadata = SummaryMetadata(data_class=DATA_CLASS_TENSOR, summary_description="The whole feedwatch report.")
    metadata.plugin_data.plugin_name = PLUGIN
    packed = zlib.compress(report_json.encode(), 6)
    return Summary(value=[Summary.Value(tag=REPORT_TAG, metadata=metadata, tensor=_string(packed, TensorShapeProto()))])


def _scalar_metadata(tag: str) -> SummaryMetadata:
    metadata = SummaryMetadata(data_class=DATA_CLASS_SCALAR, summary_description=DESCRIPTIONS.get(tag, ""))
    metadata.plugin_data.plugin_name = "scalars"
    return metadata


def _string(value: bytes, shape: TensorShapeProto) -> TensorProto:
    return TensorProto(dtype=DT_STRING, tensor_shape=shape, string_val=[value])


class EventFile:
    """Opened at the first write. A record is in the file whole or not at all."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file: _WholeRecords | None = None
        self._records: Any = None
        self._versioned = False
        self.path: Path | None = None

    def write(self, step: int, summary: Summary, wall_s: float) -> None:
        if self._records is None:
            self._open()
        if not self._versioned:  # first in the file, also where the disk was full when it was made
            self._append(Event(wall_time=wall_s, file_version="brain.Event:2"))
            self._versioned = True
        self._append(Event(step=step, wall_time=wall_s, summary=summary))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = self._records = None
            self._versioned = False

    def _open(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        # Nobody can take the name before us, and two runs of one second do not share a file.
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.urandom(8).hex()}"
        self.path = self._directory / name
        self._file = _WholeRecords(self.path)
        self._records = RecordWriter(self._file)

    def _append(self, event: Event) -> None:
        self._records.write(event.SerializeToString())


class _WholeRecords:
    """A file in which every write is whole. A short write (full disk) is cut off again.

    A torn record raises nothing by itself and hides every record behind it from TensorBoard's readers.
    """

    def __init__(self, path: Path) -> None:
        # Unbuffered, so that what was written survives kill -9.
        self._fd = create(path)
        self._good_bytes = 0

    def write(self, data: bytes) -> int:
        try:
            write_all(self._fd, data)
        except OSError:
            os.ftruncate(self._fd, self._good_bytes)
            os.lseek(self._fd, self._good_bytes, os.SEEK_SET)
            raise
        self._good_bytes += len(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is buffered."""

    def close(self) -> None:
        os.close(self._fd)


def read_records(file: BinaryIO) -> Iterator[bytes]:
    """The records of an event file up to the first broken one, without holding the file in memory.

    Checksums are not verified, because that costs 0.2 µs per byte in pure Python: a torn tail shows by its length.
    """
    while len(header := file.read(12)) == 12:
        (length,) = struct.unpack("<Q", header[:8])
        if not MIN_RECORD_BYTES <= length <= MAX_RECORD_BYTES:
            return
        if length > MAX_REPORT_RECORD_BYTES:
            file.seek(length + 4, os.SEEK_CUR)  # the user's images
            continue
        data = file.read(length)
        if len(data) < length or len(file.read(4)) < 4:
            return
        yield data


def snapshots(records: Iterable[bytes]) -> Iterator[bytes]:
    """The reports among the records of an event file, still compressed, the oldest first."""
    for record in records:
        if REPORT_TAG.encode() not in record:
            continue
        try:
            event = Event.FromString(record)
        except Exception:  # noqa: S112 -- a damaged record is not a snapshot; protobuf raises its own classes
            continue
        for value in event.summary.value:
            if value.tag == REPORT_TAG and value.tensor.string_val:
                yield value.tensor.string_val[0]
