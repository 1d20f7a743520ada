"""What a callback adds to one call of Keras' train function, on TensorFlow.

The same model is fitted with and without, in pairs of fits that take turns, a few calls each. The clocks are read
right before each call of the train function, by the model itself, so that the bare fit is timed without any callback.
"""

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import tensorflow as tf

from benchmarks.paired import Pair, compared, spread
from benchmarks.part import Effort, run_part
from benchmarks.stopwatch import WARM_STEPS, figures, mean_figures
from benchmarks.turns import Side, take_turns
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


def ours(directory: str) -> FeedWatch:
    made = FeedWatch(directory, console=False)
    # Half of the time it stands still: a second of its own is two.
    made._settings = replace(made._settings, window_seconds=2 * made._settings.window_seconds)
    return made


VARIANTS: dict[str, Callable[[str], list[Any]]] = {
    BARE: lambda _: [],
    EMPTY: lambda _: [Empty()],
    OURS: lambda directory: [ours(directory)],
    'TensorBoard(update_freq="batch")': lambda directory: [keras.callbacks.TensorBoard(directory, update_freq="batch")],
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


class Bench:
    """Two equal models. Both play both parts in every pair: that one of them lies better in memory is no cost of a
    callback.
    """

    def __init__(self, size: Size) -> None:
        self._size = size
        shape = (size.batch, size.width)
        self._data = tf.data.Dataset.from_tensors((tf.ones(shape), tf.ones(shape))).repeat().prefetch(2)
        self._models = self._made(), self._made()
        self.said: list[float] = []  # µs per step, from its share of the time: the sink's thread is in it
        self._ratio: float | None = None

    def warm_up(self, name: str) -> None:
        for model in self._models:
            self._fit(name, model, None, WARM_STEPS)  # traces

    def pair(self, name: str, number: int) -> Pair:
        """The variant's figures and those of the bare fit."""
        parts = (name, BARE) if number % 2 else (BARE, name)
        swapped = [self._side_by_side(parts, models) for models in (self._models, self._models[::-1])]
        return mean_figures([rows[name] for rows in swapped]), mean_figures([rows[BARE] for rows in swapped])

    def _side_by_side(self, parts: tuple[str, str], models: Sequence[Timed]) -> dict[str, dict[str, float]]:
        fits = [partial(self._fit, part, model) for part, model in zip(parts, models, strict=True)]
        sides = take_turns(*fits, self._size.calls_per_turn)
        rows = {part: figures(side.turns, side.seconds) for part, side in zip(parts, sides, strict=True)}
        if OURS in parts and self._ratio is not None:
            self.said.append(self._ratio * sides[parts.index(OURS)].step_us())
        return rows

    def bare_step_us(self) -> float:
        side, _ = take_turns(partial(self._fit, BARE, self._models[0]), lambda _: None, self._size.calls)
        return figures(side.turns, side.seconds)["median_wall_us"]

    def _fit(self, name: str, model: Timed, side: Side | None, calls: int | None = None) -> None:
        model.side = side
        steps = (self._size.calls + WARM_STEPS if calls is None else calls) * self._size.per_call
        with tempfile.TemporaryDirectory() as directory:
            callbacks = VARIANTS[name](directory)
            model.fit(self._data, steps_per_epoch=steps, verbose=0, callbacks=callbacks)
        if name == OURS:
            self._ratio = callbacks[0].report.self_cost.overhead_ratio

    def _made(self) -> Timed:
        # Two, however long the step: the same graph of many operations, traced twice, takes times that differ by a
        # tenth (measured), which is more than any callback.
        layers = [keras.layers.Dense(self._size.width) for _ in range(2)]
        model = Timed([keras.Input((self._size.width,)), *layers])
        model.compile("sgd", "mse", steps_per_execution=self._size.per_call)
        return model


def measure(size: Size, pairs: Mapping[str, int]) -> dict[str, Any]:
    """`pairs`: how many per variant."""
    bench = Bench(size)
    bench.warm_up(BARE)
    variants = {}
    for name, count in pairs.items():
        bench.warm_up(name)
        variants[name] = compared([bench.pair(name, number) for number in range(count)], BARE)
    return {
        "per_call": size.per_call,
        "steps": size.calls,
        "variants": variants,
        "says_of_itself_us": spread(bench.said).as_dict() if bench.said else None,
    }


def slower(size: Size, step_us: float) -> Size:
    """With as many samples as make a step of about that length on this machine."""
    probe = Bench(replace(size, calls=100))
    probe.warm_up(BARE)
    return replace(size, batch=max(1, round(size.batch * step_us / probe.bare_step_us())))


def main(effort: Effort) -> dict[str, Any]:
    few = dict.fromkeys((name for name in VARIANTS if name != BARE), effort.rounds(2))
    five_ms = slower(Size(512, 200, 1, effort.steps(800), 10), 5500)
    # Long enough for what happens once a second (drains and windows are in every fit), and for the early drains of a
    # fit not to be most of it.
    return {
        "tiny": measure(
            Size(16, 4, 1, effort.steps(2000), 25), few | {EMPTY: effort.rounds(4), OURS: effort.rounds(16)}
        ),
        "5 ms": measure(five_ms, few | {EMPTY: effort.rounds(4), OURS: effort.rounds(12)}),
        "tiny, steps_per_execution=10": measure(
            Size(16, 4, 10, effort.steps(800), 12), {EMPTY: effort.rounds(4), OURS: effort.rounds(24)}
        ),
    }


if __name__ == "__main__":
    run_part(main)
