"""Where a run is written, as far as no framework is concerned: the user's `log_dir`, and our own run below it."""

import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from feedwatch.errors import SettingError
from feedwatch.report.output import Output
from feedwatch.report.tensorboard import own_run
from feedwatch.settings import switched_off

SUB_RUN: Final = "feedwatch"
MOST_IN_A_SECOND: Final = 1000
# pathlib makes one slash of the two in gs://bucket. A Windows drive has a single letter before the colon.
_REMOTE: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:/")


@dataclass(frozen=True, slots=True)
class Destination:
    directory: Path | None  # of report.json; None where only the user's own writer reaches the run
    outputs: tuple[Output, ...]


def is_remote(log_dir: str | os.PathLike[str]) -> bool:
    """A URL such as gs://bucket: we write with plain files, so we cannot write there."""
    return _REMOTE.match(os.fspath(log_dir)) is not None


def checked_log_dir(log_dir: str | os.PathLike[str] | None) -> Path | None:
    """Make the directory. Raises when the callback is constructed, before the first step, if we cannot write there."""
    if log_dir is None:
        return None
    if not isinstance(log_dir, (str, os.PathLike)):
        raise SettingError(f"log_dir must be the path of a directory, not {log_dir!r}")
    shown = os.fspath(log_dir)
    if is_remote(log_dir):
        raise SettingError(f"log_dir must be a local directory, not {shown!r}")
    path = Path(log_dir).expanduser()
    if switched_off():
        return path  # nothing will be written, so nothing is made
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a NUL or a lone surrogate in the name
        raise SettingError(f"log_dir {shown!r} cannot be made: {getattr(error, 'strerror', error)}") from error
    try:
        # Permissions do not tell about read-only disks, quotas and network shares; a file without a name does.
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise SettingError(f"log_dir {shown!r} is not writable: {error.strerror or error}") from error
    return path


def new_home(first: Path) -> Path:
    """A directory that this run alone has: made here, so that no other run of the same second gets it too."""
    for number in range(1, MOST_IN_A_SECOND):
        home = first if number == 1 else first.with_name(f"{first.name}-{number}")
        try:
            home.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError:
            break  # nothing can be made here: the outputs will say so
        return home
    return first


def sub_run(home: Path) -> Path:
    """Our own run below the user's: a second event file in the user's own run would freeze its curves."""
    return home / SUB_RUN


def own_destination(home: Path) -> Destination:
    """No writer of the user's can be used: report.json and an event file of our own."""
    directory = sub_run(home)
    return Destination(directory, (own_run(directory),))
