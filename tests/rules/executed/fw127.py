"""FW127: eight thousand files, one per element, or one file of records."""

import tempfile
from functools import cache
from pathlib import Path

import tensorflow as tf

from tests.rules.executed.keras_parts import rows, train

FILES, BATCH = 8192, 256


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
    return tf.io.read_file(name)


def measure(batch):
    return rows(tf.strings.length(batch))


def finished(data):
    return data.batch(BATCH, drop_remainder=True).map(measure).prefetch(tf.data.AUTOTUNE)


def bad():
    _, names = written()
    files = tf.data.Dataset.from_tensor_slices(names)
    return train(finished(files.map(read, num_parallel_calls=tf.data.AUTOTUNE)), compute_ms=5)


def good(_finding):
    directory, _ = written()
    return train(finished(tf.data.TFRecordDataset(str(directory / "train.tfrecord"))), compute_ms=5)
