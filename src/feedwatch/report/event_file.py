"""Our own event file, on TensorBoard's messages and record framing; imports neither TensorFlow nor torch.

Not TensorBoard's EventFileWriter: that one imports TensorFlow where it is installed, blocks on a slow disk and
raises into its caller on a full one.
"""

import os
import socket
import time
from itertools import count
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

# Two runs of one process in one second must not share a file.
_serial = count()


class EventFile:
    """Opened at the first write. A record is in the file whole or not at all."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file: _WholeRecords | None = None
        self._records: Any = None
        self.path: Path | None = None

    def write(self, step: int, summary: Summary, wall_s: float) -> None:
        if self._records is None:
            self._open(wall_s)
        self._append(Event(step=step, wall_time=wall_s, summary=summary))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = self._records = None

    def _open(self, wall_s: float) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}.{next(_serial)}"
        self.path = self._directory / name
        self._file = _WholeRecords(self.path)
        self._records = RecordWriter(self._file)
        self._append(Event(wall_time=wall_s, file_version="brain.Event:2"))

    def _append(self, event: Event) -> None:
        self._records.write(event.SerializeToString())


class _WholeRecords:
    """A file whose every write is whole: a short one (full disk) is cut off again.

    A torn record raises nothing by itself and hides every record behind it from TensorBoard's readers.
    """

    def __init__(self, path: Path) -> None:
        # O_EXCL: an old file is never appended to; unbuffered: what was written survives kill -9.
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        self._good_bytes = 0

    def write(self, data: bytes) -> int:
        rest = memoryview(data)
        try:
            while rest:
                written = os.write(self._fd, rest)
                if not written:
                    raise OSError("the file takes no more bytes")
                rest = rest[written:]
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
