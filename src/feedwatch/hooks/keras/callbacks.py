"""Which callback takes how long between two steps, by name.

`fit` makes a callback list of its own. Small marks are put between its members: nobody's callback is wrapped or
touched, and the list dies with fit. A list that the user made is left alone.
"""

from collections.abc import Callable, Sequence
from typing import Any

import keras

from feedwatch.hooks.run import WatchedRun
from feedwatch.measure.marks import FIRST_NAMED, WAS, Mark
from feedwatch.measure.steps import StepReader
from feedwatch.model.facts import CallbackTime


class _After(keras.callbacks.Callback):  # type: ignore[misc]
    """Stands behind a callback in the list: what passed since the mark before was that callback's work."""

    def __init__(self, append: Callable[[Mark], None], now_ns: Callable[[], int], category: int) -> None:
        super().__init__()
        self._append = append
        self._now_ns = now_ns
        self._category = category

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._append((self._now_ns(), WAS, self._category))

    on_train_batch_end = on_train_batch_begin


def with_marks(us: Any, callbacks: Sequence[Any], run: WatchedRun) -> tuple[list[Any], list[str]]:
    """The members of fit's list, and the names of those that are timed.

    `us` comes first: its end mark is then taken before the others work, and its last report is written before a
    TensorBoard callback closes its writer.
    """
    members: list[Any] = [us]
    names: list[str] = []
    for callback in callbacks:
        if callback is us:
            continue
        members.append(callback)
        if _works_per_batch(callback):
            members.append(_After(run.append, run.now_ns, FIRST_NAMED + len(names)))
            names.append(type(callback).__name__)
    return members, names


def callback_times(names: Sequence[str], steps: StepReader) -> tuple[CallbackTime, ...]:
    """On the sink's thread."""
    return tuple(
        CallbackTime(name, ms_per_step=habit.ms_per_step, every=habit.every)
        for name, habit in zip(names, steps.habits(), strict=False)
    )


def _works_per_batch(callback: Any) -> bool:
    plain = keras.callbacks.Callback
    names = ("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end")
    return any(getattr(type(callback), name, None) is not getattr(plain, name) for name in names)
