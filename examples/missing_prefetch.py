"""What does `.prefetch` do, and do I need it?

Without it the step waits for its batch, then the pipeline waits for the step: they take turns. tf.data adds a
prefetch by itself where its optimiser may; this pipeline has switched that off, as do pipelines on other backends'
loops.
"""

import os
import tempfile

import keras
import numpy as np
import tensorflow as tf
from rich.console import Console

from feedwatch.keras import FeedWatch
from feedwatch.report.console import print_report

STEPS = int(os.environ.get("FEEDWATCH_EXAMPLE_STEPS", "60"))
FILE = os.path.join(tempfile.mkdtemp(), "train.tfrecord")
tf.config.threading.set_intra_op_parallelism_threads(1)  # leaves a CPU to the pipeline, as a GPU would


def write_records():
    random = np.random.default_rng(0)
    with tf.io.TFRecordWriter(FILE, "GZIP") as writer:
        for _ in range(16 * STEPS):
            writer.write(random.integers(0, 64, 40_000, np.uint8).tobytes())


def unpack(records):
    pixels = tf.ensure_shape(tf.io.decode_raw(records, tf.uint8), (None, 40_000))
    return tf.cast(pixels[:, :512], tf.float32) / 64, tf.cast(pixels[:, 0] % 10, tf.int32)


def train(prefetch):
    as_written = tf.data.Options()
    as_written.experimental_optimization.apply_default_optimizations = False
    data = tf.data.TFRecordDataset(FILE, "GZIP").batch(16).map(unpack).with_options(as_written)
    if prefetch:
        data = data.prefetch(tf.data.AUTOTUNE)
    model = keras.Sequential(
        [keras.layers.Dense(1024, "relu"), keras.layers.Dense(1024, "relu"), keras.layers.Dense(10)]
    )
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    watch = FeedWatch("runs/examples", console=False)
    model.fit(data, epochs=2, verbose=0, shuffle=False, callbacks=[watch])
    print_report(watch.report, Console())
    return watch.report


if __name__ == "__main__":
    write_records()
    before, after = train(prefetch=False), train(prefetch=True)
    print(f"before {before.verdict.samples_per_s:.0f} samples/s, after {after.verdict.samples_per_s:.0f} samples/s")
