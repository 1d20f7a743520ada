"""Where to write: the directory that was given, else the run of a TensorBoard callback, else a new run of our own."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
from tensorboard.compat.proto.summary_pb2 import Summary

from feedwatch.report.output import Output
from feedwatch.report.tensorboard import SummaryOutput, own_run


class Place(NamedTuple):
    log_dir: Path | None  # for the user
    outputs: Sequence[Output]
    directory: Path | None  # for report.json; None: remote, only the TensorBoard callback's writer reaches it


def choose(given: Path | None, callbacks: Sequence[Any]) -> Place:
    sibling = tensorboard_callback(callbacks)
    if sibling is not None and keras.backend.backend() == "tensorflow":
        theirs = str(sibling.log_dir)
        if given is None or Path(theirs).absolute() == given.absolute():
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


def sibling_output(callback: Any) -> SummaryOutput:
    """Into the run of a TensorBoard callback, through its own (private) writer: a second event file in that directory
    would freeze its curves. The session guards each write; one that fails is told once.
    """
    import tensorflow as tf

    def write(step: int, summary: Summary, _wall_s: float) -> None:
        with callback._train_writer.as_default(step=step), tf.summary.record_if(True):
            tf.summary.experimental.write_raw_pb(summary.SerializeToString(), step=step)

    def flush() -> None:
        callback._train_writer.flush()

    return SummaryOutput(write, flush)
