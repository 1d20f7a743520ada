"""What a callback adds to one call of Keras' train function, on TensorFlow.

Two equal models take turns in one process (contest.py). The clocks are read right before each call of the train
function, by the model itself, so that the bare fit is timed without any callback.
"""

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import tensorflow as tf

from benchmarks.contest import Contest
from benchmarks.part import Effort, run_part
from benchmarks.stopwatch import WARM_STEPS, figures
from benchmarks.turns import Side, take_turns
from feedwatch.keras import FeedWatch

# One thread per op: with two busy cores a pool of spinning threads would be most of the noise.
tf.config.threading.set_intra_op_parallelism_threads(1)

BARE, OURS, EMPTY = "no callback", "feedwatch", "empty callback"
BATCHWISE, PROFILED = 'TensorBoard(update_freq="batch")', "TensorBoard(profile_batch=(10, 20))"


class Empty(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        pass

    def on_train_batch_end(self, batch, logs=None):
        pass


def ours(directory: str) -> FeedWatch:
    made = FeedWatch(directory, console=False)
    # Half of the time it stands still: a second of its own is two.
    made._settings = replace(made._settings, window_seconds=2 * made._settings.window_seconds)
    return made


VARIANTS: dict[str, Callable[[str], list[Any]]] = {
    BARE: lambda _: [],
    EMPTY: lambda _: [Empty()],
    OURS: lambda directory: [ours(directory)],
    BATCHWISE: lambda directory: [keras.callbacks.TensorBoard(directory, update_freq="batch")],
    PROFILED: lambda directory: [keras.callbacks.TensorBoard(directory, profile_batch=(10, 20))],
}


class Timed(keras.Sequential):
    """Takes a step of its turn before each call of its train function."""

    side: Side | None = None

    def make_train_function(self, force=False):
        fresh = self.train_function is None or force
        super().make_train_function(force)
        if fresh:
            self.train_function = self._timed(self.train_function)
        return self.train_function

    def _timed(self, call):
        def timed(iterator):
            if self.side is not None:
                self.side.step()
            return call(iterator)

        return timed


@dataclass(frozen=True, slots=True)
class Size:
    width: int  # of each of two layers
    batch: int
    per_call: int  # steps per execution
    calls: int
    calls_per_turn: int  # some tens of milliseconds


class Player:
    def __init__(self, size: Size) -> None:
        self._per_call = size.per_call
        shape = (size.batch, size.width)
        self._data = tf.data.Dataset.from_tensors((tf.ones(shape), tf.ones(shape))).repeat().prefetch(2)
        # Two layers, however long the step: the same graph of many operations, traced twice, takes times that differ by
        # a tenth (measured), which is more than any callback.
        layers = [keras.layers.Dense(size.width) for _ in range(2)]
        self._model = Timed([keras.Input((size.width,)), *layers])
        self._model.compile("sgd", "mse", steps_per_execution=size.per_call)

    def fit(self, name: str, side: Side | None, steps: int) -> Any:
        self._model.side = side
        with tempfile.TemporaryDirectory() as directory:
            callbacks = VARIANTS[name](directory)
            self._model.fit(self._data, steps_per_epoch=steps * self._per_call, verbose=0, callbacks=callbacks)
            return callbacks[0].report if name == OURS else None


def measure(size: Size, pairs: Mapping[str, int]) -> dict[str, Any]:
    """`pairs`: how many per variant."""
    contest = Contest((Player(size), Player(size)), size.calls, size.calls_per_turn)
    variants = contest.measure(pairs, dict.fromkeys(VARIANTS, BARE))
    said = contest.says_of_itself()
    return {
        "per_call": size.per_call,
        "steps": size.calls,
        "variants": variants,
        **({"says_of_itself": said} if said else {}),
    }


def lasting(size: Size, step_us: float) -> Size:
    """With as many samples as make a step of about that length on this machine."""
    player = Player(size)
    side, _ = take_turns(lambda side: player.fit(BARE, side, 100 + WARM_STEPS), lambda _: None, 100)
    took_us = figures(side.turns, side.seconds)["median_wall_us"]
    return replace(size, batch=max(1, round(size.batch * step_us / took_us)))


# Long enough for what happens once a second (drains and windows are in every fit), and for the early drains of a fit
# not to be most of it.
TINY, LONGER, TEN = Size(16, 4, 1, 2000, 60), Size(512, 200, 1, 300, 10), Size(16, 4, 10, 700, 30)


def shortened(size: Size, effort: Effort) -> Size:
    return replace(size, calls=effort.steps(size.calls))


def tiny(effort: Effort) -> dict[str, Any]:
    return {"tiny": measure(shortened(TINY, effort), {EMPTY: effort.rounds(6), OURS: effort.rounds(16)})}


def others(effort: Effort) -> dict[str, Any]:
    return {"tiny": measure(shortened(TINY, effort), dict.fromkeys((BATCHWISE, PROFILED), effort.rounds(3)))}


def longer(effort: Effort) -> dict[str, Any]:
    size = shortened(lasting(LONGER, 6500), effort)
    return {"5 ms": measure(size, {EMPTY: effort.rounds(4), OURS: effort.rounds(14)})}


def ten_at_once(effort: Effort) -> dict[str, Any]:
    size = shortened(TEN, effort)
    return {"tiny, steps_per_execution=10": measure(size, {EMPTY: effort.rounds(4), OURS: effort.rounds(14)})}


PORTIONS = {"tiny": tiny, "others": others, "5 ms": longer, "ten": ten_at_once}

if __name__ == "__main__":
    run_part(PORTIONS)
