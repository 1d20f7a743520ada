"""Opens a trace of unknown origin: the size first, then what its first bytes say it is."""

import gzip
import lzma
import re
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from feedwatch.errors import TraceError
from feedwatch.files import opened

MIB: Final = 1 << 20
MAX_FILE_BYTES: Final = 512 * MIB
MAX_TEXT_BYTES: Final = 1024 * MIB  # after decompression; JSON is read in pieces and never held as a whole
MAX_XSPACE_BYTES: Final = 256 * MIB  # held as a whole, and several times that size once parsed
CHUNK_BYTES: Final = 4 * MIB
HEAD_BYTES: Final = 4096
XZ_MEMORY_BYTES: Final = 256 * MIB  # a header may ask for gigabytes

_GZIP: Final = b"\x1f\x8b"
_XZ: Final = b"\xfd7zXZ\x00"
# An XSpace begins with a line feed (field 1) and a length, which may have the code of a brace. One character more tells
# JSON from it.
_JSON: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\{\s*["}]|\[\s*[\[\]{"\d])')
_DAMAGE: Final = (OSError, EOFError, zlib.error, lzma.LZMAError)


class TraceSource:
    """A file that may be read more than once, in bounded pieces."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            status = path.stat()
        except (OSError, ValueError) as error:
            raise TraceError(f"cannot be opened: {_reason(error)}") from error
        if not stat.S_ISREG(status.st_mode):
            raise TraceError("not a file")
        if status.st_size > MAX_FILE_BYTES:
            raise TraceError(f"{status.st_size // MIB} MiB; files above {MAX_FILE_BYTES // MIB} MiB are not read")
        if status.st_size == 0:
            raise TraceError("the file is empty")

    def is_json(self) -> bool:
        head = b""
        for piece in self.pieces():
            head += piece
            if len(head) >= HEAD_BYTES:
                break
        if not head:
            raise TraceError("the file is empty")
        return _JSON.match(head) is not None

    def pieces(self, limit_bytes: int = MAX_TEXT_BYTES) -> Iterator[bytes]:
        """The decompressed bytes; more than the limit is an error."""
        total = 0
        try:
            with opened(self.path, MAX_FILE_BYTES, TraceError) as file:
                for piece in _decompressed(file):
                    total += len(piece)
                    if total > limit_bytes:
                        raise TraceError(f"more than {limit_bytes // MIB} MiB of data are not read")
                    yield piece
        except _DAMAGE as error:
            raise TraceError(f"cannot be read: {_reason(error)}") from error

    def whole(self, limit_bytes: int = MAX_XSPACE_BYTES) -> bytes:
        return b"".join(self.pieces(limit_bytes))


def _decompressed(file: IO[bytes]) -> Iterator[bytes]:
    head = file.read(len(_XZ))
    file.seek(0)
    if head.startswith(_XZ):
        yield from _unxz(file)
        return
    stream = gzip.GzipFile(fileobj=file) if head.startswith(_GZIP) else file
    while piece := stream.read(CHUNK_BYTES):
        yield piece


def _unxz(file: IO[bytes]) -> Iterator[bytes]:
    decompressor = lzma.LZMADecompressor(memlimit=XZ_MEMORY_BYTES)
    while not decompressor.eof:
        fresh = file.read(CHUNK_BYTES) if decompressor.needs_input else b""
        if decompressor.needs_input and not fresh:
            raise EOFError("compressed data ends too early")
        piece = decompressor.decompress(fresh, CHUNK_BYTES)
        if piece:
            yield piece


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
