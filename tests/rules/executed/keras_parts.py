"""Small Keras runs on TensorFlow. Loading and computing sleep where they stand for storage and a device."""

import os
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.data.experimental.ops import testing

from feedwatch.keras import FeedWatch
from tests.rules.executed.outcome import Outcome

WIDTH = 16


def nap(seconds):
    time.sleep(float(seconds))
    return np.float32(0)


class Pause(keras.layers.Layer):
    """Computes nothing for some milliseconds, as a host that waits for its device: no Python, no lock of its own.

    tf.data has the only operation of TensorFlow that sleeps.
    """

    def __init__(self, pause_ms):
        super().__init__()
        as_written = tf.data.Options()
        as_written.experimental_optimization.apply_default_optimizations = False  # no sleeping ahead
        as_written.autotune.enabled = False
        naps = tf.data.Dataset.range(1).repeat().apply(testing.sleep(int(1000 * pause_ms)))
        self._naps = iter(naps.with_options(as_written))

    def call(self, inputs):
        # Depends on the inputs, so that it cannot begin before the batch is there.
        with tf.control_dependencies([inputs]):
            paused = self._naps.get_next()
        with tf.control_dependencies([paused]):
            return tf.identity(inputs)


def slow(element_ms):
    """A function for `map` that waits in Python, as for a file or a server."""

    def read(element):
        waited = tf.numpy_function(nap, [element_ms / 1000], tf.float32)
        return element + tf.cast(tf.reshape(waited, []), element.dtype)

    return read


def row(element):
    inputs = tf.fill([WIDTH], tf.cast(element, tf.float32) * 0)
    return tf.ensure_shape(inputs, [WIDTH]), tf.constant(0.0)


def rows(batch):
    size = tf.shape(batch)[0]
    return tf.ensure_shape(tf.zeros([size, WIDTH]), [None, WIDTH]), tf.zeros([size])


class Stopwatch(keras.callbacks.Callback):
    async_safe = True

    def __init__(self):
        super().__init__()
        self.began = self.ended = None
        self.step_ends = []

    def on_train_begin(self, logs=None):
        self.began = time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        self.step_ends.append(time.perf_counter())

    def on_train_end(self, logs=None):
        self.ended = time.perf_counter()


def train(data, *, compute_ms, epochs=1, layers=(), run_eagerly=False, **fit):
    parts = [keras.layers.Input((WIDTH,)), *([Pause(compute_ms)] if compute_ms else []), *layers, keras.layers.Dense(1)]
    model = keras.Sequential(parts)
    model.compile("sgd", "mse", jit_compile=False, run_eagerly=run_eagerly)
    with tempfile.TemporaryDirectory() as directory:
        watch, stopwatch = FeedWatch(directory, console=False), Stopwatch()
        model.fit(data, epochs=epochs, verbose=0, callbacks=[watch, stopwatch], **fit)
    return Outcome(watch.report, stopwatch.ended - stopwatch.began, tuple(stopwatch.step_ends))
