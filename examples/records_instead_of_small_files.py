"""TFRecord or many small files: does it matter?

Opening a file costs the same for one row as for a million. With a file per row, opening is most of the work.
"""

import os
import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from rich.console import Console

from feedwatch.keras import FeedWatch
from feedwatch.report.console import print_report

STEPS = int(os.environ.get("FEEDWATCH_EXAMPLE_STEPS", "60"))
PLACE = tempfile.mkdtemp()
FILES = [os.path.join(PLACE, f"{number}.row") for number in range(2560)]
RECORDS = os.path.join(PLACE, "train.tfrecord")


def write():
    with tf.io.TFRecordWriter(RECORDS) as writer:
        for name, row in zip(FILES, np.random.default_rng(0).random((len(FILES), 256), np.float32), strict=True):
            Path(name).write_bytes(row.tobytes())
            writer.write(row.tobytes())


def from_files():
    def read(name):
        return tf.ensure_shape(tf.io.decode_raw(tf.io.read_file(name), tf.float32), (256,)), 0

    names = tf.data.Dataset.from_tensor_slices(FILES).shuffle(len(FILES)).repeat()
    return names.map(read, num_parallel_calls=tf.data.AUTOTUNE).batch(256)


def from_records():
    def unpack(records):
        return tf.ensure_shape(tf.io.decode_raw(records, tf.float32), (256, 256)), tf.zeros(256, tf.int32)

    records = tf.data.TFRecordDataset(RECORDS).shuffle(1024).repeat()
    return records.batch(256, drop_remainder=True).map(unpack, num_parallel_calls=tf.data.AUTOTUNE)


def train(data):
    model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(10)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    watch = FeedWatch("runs/examples", console=False)
    model.fit(data.prefetch(-1), steps_per_epoch=STEPS, epochs=2, verbose=0, shuffle=False, callbacks=[watch])
    print_report(watch.report, Console())
    return watch.report


if __name__ == "__main__":
    write()
    before, after = train(from_files()), train(from_records())
    print(f"before {before.verdict.samples_per_s:.0f} samples/s, after {after.verdict.samples_per_s:.0f} samples/s")
