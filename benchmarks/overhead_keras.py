"""What a callback adds to one call of Keras' train function, on TensorFlow.

The same model is fitted with and without, in pairs that stand side by side in time. The clocks are read right
before each call of the train function, by the model itself, so that the bare fit is timed without any callback.
"""

import os
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import tensorflow as tf

from benchmarks.paired import compared, spread, take_pair
from benchmarks.part import Effort, run_part
from benchmarks.stopwatch import WARM_STEPS, Reading, figures, read_clocks
from feedwatch.keras import FeedWatch

# One thread per op: with two busy cores a pool of spinning threads would be most of the noise.
tf.config.threading.set_intra_op_parallelism_threads(1)

BARE, OURS, EMPTY = "no callback", "feedwatch", "empty callback"
PROFILED = "TensorBoard(profile_batch=(10, 20))"


class Empty(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        pass

    def on_train_batch_end(self, batch, logs=None):
        pass


VARIANTS: dict[str, Callable[[str], list[Any]]] = {
    BARE: lambda _: [],
    EMPTY: lambda _: [Empty()],
    OURS: lambda directory: [FeedWatch(directory, console=False)],
    'TensorBoard(update_freq="batch")': lambda directory: [keras.callbacks.TensorBoard(directory, update_freq="batch")],
    PROFILED: lambda directory: [keras.callbacks.TensorBoard(directory, profile_batch=(10, 20))],
}


class Timed(keras.Sequential):
    """Reads the clocks before each call of its train function."""

    readings: list[Reading]

    def make_train_function(self, force=False):
        fresh = self.train_function is None or force
        super().make_train_function(force)
        if fresh:
            self.train_function = self._timed(self.train_function)
        return self.train_function

    def _timed(self, call):
        def timed(iterator):
            self.readings.append(read_clocks())
            return call(iterator)

        return timed


def model_of(width: int, layers: int, per_call: int) -> Timed:
    model = Timed([keras.Input((width,)), *[keras.layers.Dense(width) for _ in range(layers)]])
    model.compile("sgd", "mse", steps_per_execution=per_call)
    return model


def fit(model: Timed, data: Any, calls: int, per_call: int, callbacks: list[Any]) -> dict[str, float]:
    model.readings = []
    began = time.perf_counter()
    model.fit(data, steps_per_epoch=(calls + WARM_STEPS) * per_call, verbose=0, callbacks=callbacks)
    return figures(model.readings, time.perf_counter() - began)


def measure(width: int, layers: int, per_call: int, calls: int, pairs: Mapping[str, int]) -> dict[str, Any]:
    """`pairs`: how many per variant."""
    data = tf.data.Dataset.from_tensors((tf.ones((4, width)), tf.ones((4, width)))).repeat().prefetch(2)
    models = {name: model_of(width, layers, per_call) for name in (BARE, *pairs)}
    said: list[float] = []

    def once(name: str) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as directory:
            callbacks = VARIANTS[name](directory)
            row = fit(models[name], data, calls, per_call, callbacks)
        if name == OURS and callbacks[0].report.self_cost.us_per_step is not None:
            said.append(callbacks[0].report.self_cost.us_per_step)
        return row

    once(BARE)
    variants = {}
    for name, count in pairs.items():
        once(name)  # traces, and warms caches up
        taken = [take_pair(partial(once, name), partial(once, BARE), turn) for turn in range(count)]
        variants[name] = compared(taken, BARE)
    return {
        "per_call": per_call,
        "steps": calls,
        "variants": variants,
        "says_of_itself_us": spread(said).as_dict() if said else None,
    }


def main(effort: Effort) -> dict[str, Any]:
    few = dict.fromkeys((name for name in VARIANTS if name != BARE), effort.rounds(4))
    # Long enough for what happens once a second or every thousand batches (drains and windows are in every tiny fit),
    # and for the early drains of a fit not to be most of it.
    return {
        "tiny": measure(16, 2, 1, effort.steps(2000), few | {EMPTY: effort.rounds(8), OURS: effort.rounds(16)}),
        "5 ms": measure(384, 12, 1, effort.steps(300), few | {OURS: effort.rounds(16)}),
        "tiny, steps_per_execution=10": measure(
            16, 2, 10, effort.steps(1200), {EMPTY: effort.rounds(6), OURS: effort.rounds(24)}
        ),
    }


if __name__ == "__main__":
    run_part(main)
