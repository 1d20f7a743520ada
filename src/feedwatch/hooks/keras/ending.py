"""After an error or Ctrl-C Keras calls no end hook: how we still learn that a fit has ended, and how."""

import sys
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
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


def when_released(
    callback_list: Any, tell: Callable[[Status], None], noticed: Callable[[], Status | None] = lambda: None
) -> "weakref.ref[Any]":
    """`fit`'s callback list dies with its frame. Keras' traceback filter lets go of it while the error is handled.

    Where the traceback keeps the frame longer, what a fetch `noticed` on its way tells how the run ended.
    """

    def released(_: Any) -> None:
        error = sys.exc_info()[1]
        tell(noticed() or Status.INTERRUPTED if error is None else status_of(error))

    return weakref.ref(callback_list, released)


def status_of(error: BaseException) -> Status:
    return Status.FAILED if isinstance(error, Exception) else Status.INTERRUPTED
