"""Writing into the run of a sibling TensorBoard callback: a second event file there would freeze its curves."""

from typing import Any

import tensorflow as tf
from tensorboard.compat.proto.summary_pb2 import Summary

from feedwatch.report.outputs import SummaryOutput


def sibling_output(callback: Any) -> SummaryOutput:
    """Through its own writer, private as it is. The session guards each write: when it is gone, we say so once."""

    def write(step: int, summary: Summary, _wall_s: float) -> None:
        with callback._train_writer.as_default(step=step), tf.summary.record_if(True):
            tf.summary.experimental.write_raw_pb(summary.SerializeToString(), step=step)

    def flush() -> None:
        callback._train_writer.flush()

    return SummaryOutput(write, flush)
