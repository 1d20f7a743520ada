"""After an error or Ctrl-C Keras calls no end hook: how we still learn that a fit has ended, and how."""

import sys
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import FrameType, TracebackType
from typing import Any

from feedwatch.model.report import Status

_SHADOW = "catch_stop_iteration"


class ObservedEpoch(AbstractContextManager[Any]):
    """Around Keras' own context manager of an epoch. Looks at what passes; changes nothing about it."""

    def __init__(self, inner: AbstractContextManager[Any], tell: Callable[[Status], None]) -> None:
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


def observe_epochs(epoch_iterator: Any, tell: Callable[[Status], None]) -> None:
    """TensorFlow and JAX run an epoch inside `catch_stop_iteration`; on torch it surrounds each fetch: not there."""
    plain = getattr(type(epoch_iterator), _SHADOW, None)
    if plain is None or _SHADOW in vars(epoch_iterator):
        return
    reference = weakref.ref(epoch_iterator)
    epoch_iterator.catch_stop_iteration = lambda: ObservedEpoch(plain(reference()), tell)


def unobserve(epoch_iterator: Any) -> None:
    vars(epoch_iterator).pop(_SHADOW, None)


def observe_callbacks(callback_list: Any, hooks: Sequence[str], tell: Callable[[Status], None]) -> None:
    """On fit's own list: an error of a callback that passes through one of these hooks."""
    reference = weakref.ref(callback_list)  # no cycle: the list must die with fit's frame
    for name in hooks:
        setattr(callback_list, name, _observed_hook(getattr(type(callback_list), name), reference, tell))


def unobserve_callbacks(callback_list: Any, hooks: Sequence[str]) -> None:
    for name in hooks:
        vars(callback_list).pop(name, None)


def _observed_hook(hook: Callable[..., None], reference: "weakref.ref[Any]", tell: Callable[[Status], None]) -> Any:
    def hook_looked_at(*args: Any, **named: Any) -> None:
        try:
            hook(reference(), *args, **named)  # an error that passes here is your callback's own, unchanged
        except BaseException as error:
            tell(status_of(error))
            raise

    return hook_looked_at


def observe_train_function(model: Any, fit: FrameType, tell: Callable[[Status], None]) -> Callable[[], None]:
    """An error of the model's own. Returns what undoes it; an error undoes it too."""
    plain, fit_id = model.train_function, id(fit)  # the id: a frame that we held would hold the user's data
    reference = weakref.ref(model)

    def undo() -> None:
        live = reference()
        if live is not None and live.train_function is step_looked_at:
            live.train_function = plain

    def failed(caller: FrameType, error: BaseException) -> None:
        if id(caller) == fit_id:  # not a callback's own train_on_batch, which may know what to do
            undo()
            tell(status_of(error))

    def step_looked_at(*args: Any) -> Any:
        try:
            return plain(*args)  # an error that passes here is your model's own, unchanged
        except BaseException as error:
            failed(sys._getframe(1), error)
            raise

    model.train_function = step_looked_at
    return undo


def when_released(callback_list: Any, tell: Callable[[Status], None]) -> "weakref.ref[Any]":
    """The last resort: `fit`'s callback list dies with its frame. An error that still holds the frame holds it too."""

    def released(_: Any) -> None:
        error = sys.exc_info()[1]
        tell(Status.INTERRUPTED if error is None else status_of(error))

    return weakref.ref(callback_list, released)


def status_of(error: BaseException) -> Status:
    return Status.FAILED if isinstance(error, Exception) else Status.INTERRUPTED
