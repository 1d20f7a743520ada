"""A Keras training (TensorFlow) that follows a scene and times itself.

tf.data stamps each batch itself, by an operation of its graph before and one after: what a call into Python costs there
is time that the step waits for, and a clock in Python would leave it out. The model knows when its train function was
called and when it returned; all by the same clock. Without workers a batch is made when it is asked for, so the time
between the two stamps is the wait. With workers a batch may be there before the call: the wait is what was left at the
call, less the time in which a call gets under way (`dispatch_ms`, from a run with instant data).
"""

import os
import statistics
import tempfile
import time
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy as np
import tensorflow as tf

from benchmarks.scenes import BATCH, Scene, mean, sleep

FEATURES = 6


def _now_ms() -> float:
    return time.time() * 1000  # the clock of tf.timestamp


class Items:
    """`workers` make batches at the same time, ahead of the step; without them one is made when it is asked for."""

    def __init__(self, scene: Scene, batches: int) -> None:
        self._ms = scene.input_ms
        # Stamps travel in the targets, as float32: so soon after this moment it still tells microseconds apart.
        self._origin_s = time.time()
        parallel = {"num_parallel_calls": scene.workers} if scene.workers else {}
        data = tf.data.Dataset.range(batches).map(self._load, **parallel)
        options = tf.data.Options()
        # tf.data adds a prefetch by itself, and then nobody could say what the step would have waited.
        options.experimental_optimization.inject_prefetch = False
        self.data = data.prefetch(2) if scene.workers else data.with_options(options)

    def _load(self, index: Any) -> Any:
        began_s = tf.timestamp()  # stateful operations of one function run in this order
        batch = tf.numpy_function(self._make, [index], tf.float32, stateful=True)
        batch = tf.ensure_shape(batch, (BATCH, FEATURES))
        with tf.control_dependencies([batch]):
            ended_s = tf.timestamp()
        stamps = tf.stack([tf.cast(index, tf.float64), began_s - self._origin_s, ended_s - self._origin_s])
        carried = tf.tile(tf.cast(stamps, tf.float32)[tf.newaxis], [BATCH, 1])
        return batch, tf.concat([batch[:, :1], carried], axis=1)

    def _make(self, index: np.ndarray) -> np.ndarray:
        sleep(self._ms)
        return np.ones((BATCH, FEATURES), np.float32)

    def stamps_ms(self, carried: np.ndarray) -> list[tuple[float, float]]:
        """When each batch was begun and when it was there."""
        return [
            (1000 * (self._origin_s + float(began)), 1000 * (self._origin_s + float(ended))) for began, ended in carried
        ]


class Timed(keras.Sequential):
    """Its step sleeps for the scene's compute time; the clock is read around its train function."""

    scene: Scene

    def prepare(self, scene: Scene, batches: int) -> None:
        self.scene = scene
        self.stamps = tf.Variable(tf.zeros((batches, 2)), trainable=False)
        self.called_ms: list[float] = []
        self.began_ms: list[float] = []
        self.returned_ms: list[float] = []

    def make_train_function(self, force=False):
        fresh = self.train_function is None or force
        super().make_train_function(force)
        if fresh:
            self.train_function = self._timed(self.train_function)
        return self.train_function

    def train_step(self, data):
        x, y = data[0], data[1][:, :1]
        number, began_s, ended_s = tf.unstack(data[1][0, 1:])
        self.stamps.scatter_nd_update([[tf.cast(number, tf.int32)]], [[began_s, ended_s]])
        x = tf.ensure_shape(tf.numpy_function(self._compute, [x], tf.float32, stateful=True), x.shape)
        return super().train_step((x, y))

    def _timed(self, call):
        def timed(iterator):
            self.called_ms.append(_now_ms())
            logs = call(iterator)
            self.returned_ms.append(_now_ms())
            return logs

        return timed

    def _compute(self, x):
        self.began_ms.append(_now_ms())
        sleep(self.scene.compute_ms)
        return x


class SlowCallback(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        sleep(4.0)

    def on_train_batch_end(self, batch, logs=None):
        sleep(5.0)


def dispatch_ms() -> float:
    """From the call of the train function until its step runs, when the batch is there already."""
    scene = Scene(0.0, 2.0, workers=2)
    _, model = fit(scene, 1.0, [])
    return statistics.median(b - c for b, c in zip(model.began_ms, model.called_ms, strict=False))


def train(scene: Scene, seconds: float, callbacks: list[Any], dispatched_ms: float) -> dict[str, float | None]:
    """The truth: mean milliseconds per step of each phase."""
    items, model = fit(scene, seconds, callbacks)
    steps = range(len(model.returned_ms))
    stamps = items.stamps_ms(model.stamps.numpy())
    if scene.workers:
        waits = [max(0.0, stamps[at][1] - model.called_ms[at] - dispatched_ms) for at in steps]
    else:
        waits = [stamps[at][1] - stamps[at][0] for at in steps]
    computes = [model.returned_ms[at] - model.called_ms[at] - waits[at] for at in steps]
    return {"input": mean(waits), "compute": mean(computes), "copy": None}


def fit(scene: Scene, seconds: float, callbacks: list[Any]) -> tuple[Items, Timed]:
    epochs = 3 if scene.extra in ("validation", "checkpoints") else 1
    steps = scene.steps(seconds)
    items = Items(scene, steps)
    model = Timed([keras.Input((FEATURES,)), keras.layers.Dense(1)])
    model.prepare(scene, steps)
    model.compile("sgd", "mse")
    with tempfile.TemporaryDirectory() as directory:
        fit_arguments: dict[str, Any] = {"callbacks": [*callbacks, *_extra_callbacks(scene, directory)]}
        if scene.extra == "validation":
            fit_arguments["validation_data"] = (np.ones((12, FEATURES)), np.ones((12, 1)))
        if epochs > 1:
            fit_arguments["steps_per_epoch"] = steps // epochs
        model.fit(items.data, epochs=epochs, shuffle=False, verbose=0, **fit_arguments)
    return items, model


def _extra_callbacks(scene: Scene, directory: str) -> list[Any]:
    if scene.extra == "slow callback":
        return [SlowCallback()]
    if scene.extra == "checkpoints":
        path = f"{directory}/{{batch}}.weights.h5"
        return [keras.callbacks.ModelCheckpoint(path, save_weights_only=True, save_freq=4)]
    return []
