"""Files in a directory that others may write to too: every writer and reader of ours opens them here.

Writing: a new file gets a name that was free, and a file that exists is replaced by renaming a finished draft with a
name nobody can guess. A link that somebody planted is never followed, neither a file nor the directory it is in:
directories above that one are the user's own choice. Reading: only regular files, only so many bytes,
and no opening that waits: a FIFO would hold a reader for ever, and /dev/zero has no end.
"""

import fnmatch
import heapq
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from feedwatch.errors import FeedwatchError, ReportError

# A directory of a million files is looked at as far as this.
MAX_ENTRIES: Final = 100_000

_MODE: Final = 0o644
# Windows has neither of these.
_NOFOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_BINARY: Final = getattr(os, "O_BINARY", 0)
_DIRECTORY: Final = getattr(os, "O_DIRECTORY", None)


# -- writing -------------------------------------------------------------------------------------


@contextmanager
def _held(directory: Path) -> Iterator[int | None]:
    """The directory itself, so that nobody can put a link in its place between two calls. None on Windows."""
    if _DIRECTORY is None:
        yield None
        return
    descriptor = os.open(directory, os.O_RDONLY | _DIRECTORY | _NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _named(path: Path, directory: int | None) -> str | Path:
    """What to call a file, given the descriptor of its directory."""
    return path if directory is None else path.name


def create(path: Path) -> int:
    """A descriptor of a file that did not exist. Nothing is followed and nothing is appended to."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW | _BINARY
    with _held(path.parent) as directory:
        return os.open(_named(path, directory), flags, _MODE, dir_fd=directory)


def rename(path: Path, name: str) -> None:
    """Within its directory. What had the new name is replaced."""
    new = path.with_name(name)
    with _held(path.parent) as directory:
        os.replace(_named(path, directory), _named(new, directory), src_dir_fd=directory, dst_dir_fd=directory)


def remove(path: Path) -> None:
    with _held(path.parent) as directory:
        os.unlink(_named(path, directory), dir_fd=directory)


def write_all(descriptor: int, data: bytes) -> None:
    """A short write (full disk) raises nothing by itself; this does."""
    rest = memoryview(data)
    while rest:
        written = os.write(descriptor, rest)
        if not written:
            raise OSError("the file takes no more bytes")
        rest = rest[written:]


def replace_file(path: Path, data: bytes) -> None:
    """A reader finds the old file or the new one, never a part of one, also after the process was killed."""
    draft = path.with_name(f".feedwatch-{os.urandom(8).hex()}.tmp")
    descriptor = create(draft)
    try:
        try:
            write_all(descriptor, data)
        finally:
            os.close(descriptor)
        rename(draft, path.name)
    finally:
        with suppress(OSError):  # it is gone if all went well
            remove(draft)


# -- reading -------------------------------------------------------------------------------------


@contextmanager
def opened(path: Path, most_bytes: int, refusal: type[FeedwatchError] = ReportError) -> Iterator[BinaryIO]:
    """A regular file of at most so many bytes, open for reading. Raises `refusal` with one clear line."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _NONBLOCK | _BINARY)
    except (OSError, ValueError) as error:  # ValueError: a NUL or a lone surrogate in the name
        raise refusal(f"cannot read {path}: {_reason(error)}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise refusal(f"{path} is not a file")
        if status.st_size > most_bytes:
            raise refusal(f"{path} is larger than {most_bytes >> 20} MiB")
        with open(descriptor, "rb", closefd=False) as file:
            yield file
    except OSError as error:
        raise refusal(f"cannot read {path}: {_reason(error)}") from None
    finally:
        os.close(descriptor)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def read_file(path: Path, most_bytes: int) -> bytes:
    with opened(path, most_bytes) as file:
        data = file.read(most_bytes + 1)  # it may have grown since its size was asked for
    if len(data) > most_bytes:
        raise ReportError(f"{path} is larger than {most_bytes >> 20} MiB")
    return data


def listed(directory: Path, pattern: str, most: int, *, last: bool = False) -> list[Path]:
    """The first (or last) files by name whose name matches. A directory that is missing or closed to us holds none."""
    pick = heapq.nlargest if last else heapq.nsmallest
    names = (entry.name for entry in _entries(directory) if fnmatch.fnmatchcase(entry.name, pattern))
    return [directory / name for name in pick(most, names)]


def subdirectories(directory: Path, most: int) -> list[Path]:
    """Links are not followed: two of them could lead in a circle."""
    found = (entry for entry in _entries(directory) if entry.is_dir(follow_symlinks=False))
    return sorted(Path(entry.path) for entry in islice(found, most))


def _entries(directory: Path) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(directory) as entries:
            yield from islice(entries, MAX_ENTRIES)
    except (OSError, ValueError):
        return
