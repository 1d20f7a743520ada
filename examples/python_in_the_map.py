"""Does a py_function (or numpy_function) in my map slow training down, and why do parallel calls not help?

Python code holds the interpreter's lock: however many parallel calls tf.data makes, one runs at a time.
"""

import os

import keras
import tensorflow as tf
from rich.console import Console

from feedwatch.demo.photos import decode, make_photos, normalise
from feedwatch.keras import FeedWatch
from feedwatch.report.console import print_report

STEPS = int(os.environ.get("FEEDWATCH_EXAMPLE_STEPS", "60"))
PHOTOS = [photo.packed for photo in make_photos(64)] * (STEPS // 4)


def python_decode(packed):
    pixels = tf.numpy_function(lambda raw: normalise(decode(raw)), [packed], tf.float32)
    return tf.ensure_shape(pixels, (96, 96, 3)), 0


def tensorflow_decode(packed):
    raw = tf.io.decode_raw(tf.io.decode_compressed(packed, "ZLIB"), tf.uint8)
    pixels = tf.cast(tf.reshape(raw, (96, 96, 3)), tf.float32) / 255.0
    mean, variance = tf.nn.moments(pixels, (0, 1))
    return tf.tanh((pixels - mean) / (tf.sqrt(variance) + 1e-5)), 0


def train(function):
    data = tf.data.Dataset.from_tensor_slices(PHOTOS).shuffle(len(PHOTOS))
    data = data.map(function, num_parallel_calls=tf.data.AUTOTUNE).batch(16).prefetch(tf.data.AUTOTUNE)
    model = keras.Sequential([keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    watch = FeedWatch("runs/examples", console=False)
    model.fit(data, epochs=2, verbose=0, shuffle=False, callbacks=[watch])
    print_report(watch.report, Console())
    return watch.report


if __name__ == "__main__":
    before = train(python_decode)
    after = train(tensorflow_decode)
    print(f"before {before.verdict.samples_per_s:.0f} samples/s, after {after.verdict.samples_per_s:.0f} samples/s")
