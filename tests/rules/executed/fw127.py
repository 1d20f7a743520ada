"""FW127: two thousand files, one per element, or one file of records."""

import tempfile
from functools import cache
from pathlib import Path

import tensorflow as tf

from tests.rules.executed.keras_parts import row, train

FILES = 4000


@cache
def written():
    directory = Path(tempfile.mkdtemp(prefix="feedwatch-fw127-"))
    names = []
    with tf.io.TFRecordWriter(str(directory / "train.tfrecord")) as writer:
        for index in range(FILES):
            name = directory / f"{index}.bin"
            name.write_bytes(b"\0" * 256)
            writer.write(b"\0" * 256)
            names.append(str(name))
    return directory, names


def read(name):
    return tf.cast(tf.strings.length(tf.io.read_file(name)), tf.int64)


def measure(record):
    return tf.cast(tf.strings.length(record), tf.int64)


def finished(data):
    return data.map(row).batch(64, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def bad():
    _, names = written()
    files = tf.data.Dataset.from_tensor_slices(names)
    return train(finished(files.map(read, num_parallel_calls=tf.data.AUTOTUNE)), compute_ms=1)


def good(_finding):
    directory, _ = written()
    records = tf.data.TFRecordDataset(str(directory / "train.tfrecord"))
    return train(finished(records.map(measure, num_parallel_calls=tf.data.AUTOTUNE)), compute_ms=1)
