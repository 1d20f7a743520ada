"""Where to write: the directory that was given, else the run of a TensorBoard callback, else a new run of our own."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
from tensorboard.compat.proto.summary_pb2 import Summary

from feedwatch.hooks.destination import Destination, is_remote, new_home, own_destination, sub_run
from feedwatch.report.tensorboard import SummaryOutput


class Place(NamedTuple):
    log_dir: Path | None  # what the user is told; None: remote
    destination: Destination


def choose(given: Path | None, callbacks: Sequence[Any]) -> Place:
    sibling = tensorboard_callback(callbacks)
    theirs = None if sibling is None or is_remote(sibling.log_dir) else Path(str(sibling.log_dir))
    if sibling is not None and keras.backend.backend() == "tensorflow" and _same(given, theirs):
        return Place(theirs, Destination(theirs and sub_run(theirs), (sibling_output(sibling),)))
    home = given or theirs or new_home(Path("runs") / time.strftime("keras-%Y%m%d-%H%M%S"))
    return Place(home, own_destination(home))


def _same(given: Path | None, theirs: Path | None) -> bool:
    """Whether to write into the TensorBoard callback's run: no directory was given, or it is the same one."""
    return given is None or (theirs is not None and theirs.absolute() == given.absolute())


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
