"""What a callback adds to one call of Keras' train function, on TensorFlow.

Every round fits the same small model once per variant, in an order that rotates. The clocks are read right before each
call of the train function, by the model itself, so that the bare fit is timed without any callback.
"""

import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import tensorflow as tf

from benchmarks.paired import compared, rotated, spread
from benchmarks.part import Effort, run_part
from benchmarks.stopwatch import WARM_STEPS, Reading, figures, read_clocks
from feedwatch.keras import FeedWatch

# One thread per op: with two busy cores a pool of spinning threads would be most of the noise.
tf.config.threading.set_intra_op_parallelism_threads(1)

BARE, OURS = "no callback", "feedwatch"
PROFILED = "TensorBoard(profile_batch=(10, 20))"


class Empty(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        pass

    def on_train_batch_end(self, batch, logs=None):
        pass


VARIANTS: dict[str, Callable[[str], list[Any]]] = {
    BARE: lambda _: [],
    "empty callback": lambda _: [Empty()],
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


def measure(width: int, layers: int, per_call: int, calls: int, rounds: int, names: list[str]) -> dict[str, Any]:
    data = tf.data.Dataset.from_tensors((tf.ones((4, width)), tf.ones((4, width)))).repeat().prefetch(2)
    models = {name: model_of(width, layers, per_call) for name in names}
    taken: dict[str, list[dict[str, float]]] = defaultdict(list)
    said: list[float] = []
    for number in range(rounds + 1):
        for name in rotated(names, number):
            with tempfile.TemporaryDirectory() as directory:
                callbacks = VARIANTS[name](directory)
                row = fit(models[name], data, calls, per_call, callbacks)
            if number:  # round 0 traces and warms up
                taken[name].append(row)
                if name == OURS and callbacks[0].report.self_cost.us_per_step is not None:
                    said.append(callbacks[0].report.self_cost.us_per_step)
    return {
        "per_call": per_call,
        "rounds": rounds,
        "steps": calls,
        "variants": compared({name: taken[name] for name in names}, dict.fromkeys(names[1:], BARE)),
        "says_of_itself_us": spread(said).as_dict() if said else None,
    }


def main(effort: Effort) -> dict[str, Any]:
    # Long enough that what happens once a second is in it.
    every, rounds = list(VARIANTS), effort.rounds(10)
    return {
        "tiny": measure(16, 2, 1, effort.steps(2000), rounds, every),
        "5 ms": measure(320, 12, 1, effort.steps(260), rounds, every),
        "tiny, steps_per_execution=10": measure(16, 2, 10, effort.steps(400), rounds, every[:3]),
    }


if __name__ == "__main__":
    run_part(main)
