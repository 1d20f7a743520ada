"""Which callback takes how long between two steps, by name.

`fit` makes a callback list of its own. Small marks are put between its members: nobody's callback is wrapped or
touched, and the list dies with fit. A list that the user made is left alone.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import keras

from feedwatch.model.facts import CallbackTime

_now_ns = time.perf_counter_ns


class _Lap:
    """When the last mark of the list was passed. Shared by all of them."""

    __slots__ = ("last_ns",)

    def __init__(self) -> None:
        self.last_ns = 0


class _First(keras.callbacks.Callback):  # type: ignore[misc]
    def __init__(self, lap: _Lap) -> None:
        super().__init__()
        self._lap = lap

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._lap.last_ns = _now_ns()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._lap.last_ns = _now_ns()


class _After(keras.callbacks.Callback):  # type: ignore[misc]
    def __init__(self, lap: _Lap, name: str) -> None:
        super().__init__()
        self._lap = lap
        self.name = name
        self.spent_ns = 0

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        now_ns = _now_ns()
        self.spent_ns += now_ns - self._lap.last_ns
        self._lap.last_ns = now_ns

    on_train_batch_end = on_train_batch_begin


class _Called(keras.callbacks.Callback):  # type: ignore[misc]
    """The last member: the train function is called next, whoever stood behind us in the list."""

    def __init__(self, mark: Callable[[], None]) -> None:
        super().__init__()
        self._mark = mark

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._mark()


class CallbackTimes:
    def __init__(self, us: Any, callbacks: Sequence[Any], about_to_call: Callable[[], None]) -> None:
        """`us` comes first: its end mark is then taken before the others work, and its last report is written before a
        TensorBoard callback closes its writer.
        """
        lap = _Lap()
        self._marks: list[_After] = []
        between: list[Any] = []
        for callback in callbacks:
            if callback is us:
                continue
            between.append(callback)
            if _works_per_batch(callback):
                self._marks.append(_After(lap, type(callback).__name__))
                between.append(self._marks[-1])
        ends = ([_First(lap)], [_Called(about_to_call)]) if self._marks else ([], [])
        self.members = [us, *ends[0], *between, *ends[1]]

    def read(self, calls: int) -> tuple[CallbackTime, ...]:
        if not calls:
            return ()
        return tuple(CallbackTime(mark.name, mark.spent_ns / calls / 1e6) for mark in self._marks)


def _works_per_batch(callback: Any) -> bool:
    plain = keras.callbacks.Callback
    names = ("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end")
    return any(getattr(type(callback), name, None) is not getattr(plain, name) for name in names)
