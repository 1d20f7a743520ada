"""Small Keras runs on TensorFlow. Loading and computing sleep where they stand for storage and a device."""

import os
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

from benchmarks.zoo.keras_parts import Device
from feedwatch.keras import FeedWatch
from tests.rules.executed.outcome import Outcome

WIDTH = 16


def nap(seconds):
    time.sleep(float(seconds))
    return np.float32(0)


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
    parts = [
        keras.layers.Input((WIDTH,)),
        *([Device(compute_ms)] if compute_ms else []),
        *layers,
        keras.layers.Dense(1),
    ]
    model = keras.Sequential(parts)
    model.compile("sgd", "mse", jit_compile=False, run_eagerly=run_eagerly)
    with tempfile.TemporaryDirectory() as directory:
        watch, stopwatch = FeedWatch(directory, console=False), Stopwatch()
        model.fit(data, epochs=epochs, verbose=0, callbacks=[watch, stopwatch], **fit)
    return Outcome(watch.report, stopwatch.ended - stopwatch.began, tuple(stopwatch.step_ends))
