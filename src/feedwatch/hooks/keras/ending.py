"""After an error or Ctrl-C Keras calls no end hook: how we learn that a fit has ended, and how.

What is set here looks at an error that passes and never changes it.
"""

import sys
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import FrameType, TracebackType
from typing import Any

from feedwatch.hooks.undo import Undo
from feedwatch.model.report import Status

Tell = Callable[[Status], None]


class ObservedEpoch(AbstractContextManager[Any]):
    """Around Keras' own context manager of an epoch."""

    def __init__(self, inner: AbstractContextManager[Any], tell: Tell) -> None:
        self._inner = inner
        self._tell = tell

    def __enter__(self) -> Any:
        return self._inner.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        try:
            swallowed = self._inner.__exit__(kind, error, trace)
        except BaseException as raised:
            self._tell(status_of(raised))
            raise
        if error is not None and not swallowed:
            self._tell(status_of(error))
        return swallowed


def observe_epochs(undo: Undo, epoch_iterator: Any, tell: Tell) -> None:
    """TensorFlow and JAX run a whole epoch inside `catch_stop_iteration`. (On torch it only surrounds each fetch.)"""
    plain = getattr(type(epoch_iterator), "catch_stop_iteration", None)
    if plain is None or "catch_stop_iteration" in vars(epoch_iterator):
        return
    reference = weakref.ref(epoch_iterator)  # no cycle: the iterator must die with fit's frame

    def catch_stop_iteration() -> ObservedEpoch:
        return ObservedEpoch(plain(reference()), tell)

    undo.set(epoch_iterator, "catch_stop_iteration", catch_stop_iteration, weak=True)


def observe_callbacks(undo: Undo, callback_list: Any, hooks: Sequence[str], tell: Tell) -> None:
    """On fit's own list: an error of a callback passes through one of these hooks."""
    reference = weakref.ref(callback_list)  # no cycle here either
    for name in hooks:
        hook = _observed_hook(getattr(type(callback_list), name), reference, tell)
        undo.set(callback_list, name, hook, weak=True)


def _observed_hook(hook: Callable[..., None], reference: "weakref.ref[Any]", tell: Tell) -> Any:
    def hook_looked_at(*args: Any, **named: Any) -> None:
        try:
            hook(reference(), *args, **named)  # an error that passes here is your callback's own, unchanged
        except BaseException as error:
            tell(status_of(error))
            raise

    return hook_looked_at


def observe_train_function(undo: Undo, model: Any, fit: FrameType, tell: Tell) -> None:
    """An error of the model's own, on torch."""
    plain, fit_id = model.train_function, id(fit)  # the id: holding the frame would hold the user's data

    def failed(caller: FrameType, error: BaseException) -> None:
        if id(caller) == fit_id:  # not a callback's own train_on_batch, which may handle its error
            tell(status_of(error))

    def step_looked_at(*args: Any) -> Any:
        try:
            return plain(*args)  # an error that passes here is your model's own, unchanged
        except BaseException as error:
            failed(sys._getframe(1), error)
            raise

    undo.set(model, "train_function", step_looked_at, weak=True)


def when_released(callback_list: Any, tell: Tell) -> "weakref.ref[Any]":
    """The last resort: `fit`'s callback list dies with its frame. (An error whose traceback holds the frame keeps the
    list alive too.)
    """

    def released(_: Any) -> None:
        error = sys.exc_info()[1]
        tell(Status.INTERRUPTED if error is None else status_of(error))

    return weakref.ref(callback_list, released)


def status_of(error: BaseException) -> Status:
    return Status.FAILED if isinstance(error, Exception) else Status.INTERRUPTED
