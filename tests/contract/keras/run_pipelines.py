"""Real tf.data pipelines in a short fit: what feedwatch read of each, as JSON."""

import json
import os
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf

from feedwatch.keras import FeedWatch

AUTOTUNE = tf.data.AUTOTUNE
X = np.ones((64, 8), "float32")


def slow(value):
    time.sleep(0.003)
    return value


def decode(value):
    return tf.ensure_shape(tf.numpy_function(slow, [value], tf.float32), [8])


def augment(value):
    return value + tf.random.normal([8])


def label(value):
    return value, value[..., :1]


def files():
    home = Path(tempfile.mkdtemp())
    for index in range(4):
        with tf.io.TFRecordWriter(str(home / f"{index}.tfrecord")) as writer:
            for _ in range(16):
                writer.write(np.ones(8, "float32").tobytes())
    return [str(path) for path in sorted(home.glob("*.tfrecord"))]


def parse(record):
    return tf.reshape(tf.io.decode_raw(record, tf.float32), [8])


def read(name):
    return tf.reshape(tf.io.decode_raw(tf.io.read_file(name), tf.float32)[:8], [8])


def autotune_off(data):
    options = tf.data.Options()
    options.autotune.enabled = False
    return data.with_options(options)


def generated():
    for _ in range(64):
        yield np.ones(8, "float32")


FLOATS = tf.data.Dataset.from_tensor_slices(X)
PIPELINES = {
    "serial_python_map": FLOATS.map(decode).map(label).batch(8),
    "parallel_map_and_prefetch": FLOATS.shuffle(32).map(augment, num_parallel_calls=2, deterministic=False)
    .batch(8).map(label).prefetch(AUTOTUNE),
    "tfrecord_interleave": tf.data.Dataset.from_tensor_slices(files())
    .interleave(tf.data.TFRecordDataset, num_parallel_calls=AUTOTUNE).map(parse).cache().map(label).batch(8),
    "tfrecord_serial": tf.data.TFRecordDataset(files()).map(parse).map(label).batch(8),
    "a_file_per_element": tf.data.Dataset.from_tensor_slices(files() * 8).map(read).map(label).batch(8),
    "generator": tf.data.Dataset.from_generator(generated, output_signature=tf.TensorSpec([8], tf.float32))
    .map(label).batch(8),
    "autotune_off": autotune_off(FLOATS.map(label).batch(8)),
}  # fmt: skip


def main():
    for name, data in PIPELINES.items():
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        ours = FeedWatch(tempfile.mkdtemp(), console=False)
        model.fit(data, epochs=2, verbose=0, callbacks=[ours])
        facts = ours._last.run.session.facts
        found = {"pipeline": asdict(facts.pipeline), "batch": None if facts.batch is None else asdict(facts.batch)}
        print("RESULT " + json.dumps({"name": name, **found, "notes": list(facts.notes)}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
