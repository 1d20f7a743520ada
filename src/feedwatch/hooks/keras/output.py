"""Where to write: the argument, else the run of a sibling TensorBoard callback, else a new run of our own."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras

from feedwatch.report.output import Output
from feedwatch.report.outputs import own_run


class Place(NamedTuple):
    log_dir: Path | None  # for the user
    outputs: Sequence[Output]
    directory: Path | None  # for report.json; None where only the sibling's remote writer reaches


def choose(given: Path | None, callbacks: Sequence[Any]) -> Place:
    sibling = tensorboard_callback(callbacks)
    if sibling is not None and keras.backend.backend() == "tensorflow":
        theirs = str(sibling.log_dir)
        if given is None or Path(theirs).absolute() == given.absolute():
            from feedwatch.hooks.keras.tensorboard_run import sibling_output

            remote = "://" in theirs
            home = None if remote else Path(theirs)
            return Place(home, [sibling_output(sibling)], None if home is None else home / "feedwatch")
    return _own(given, sibling)


def _own(given: Path | None, sibling: Any | None) -> Place:
    home = given
    if home is None and sibling is not None and "://" not in str(sibling.log_dir):
        home = Path(str(sibling.log_dir))
    if home is None:
        home = Path("runs") / time.strftime("keras-%Y%m%d-%H%M%S")
    directory = home / "feedwatch"
    return Place(home, [own_run(directory)], directory)


def tensorboard_callback(callbacks: Sequence[Any]) -> Any | None:
    for callback in callbacks:
        if isinstance(callback, keras.callbacks.TensorBoard):
            return callback
    return None
