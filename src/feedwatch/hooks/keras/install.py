"""Where to look: `fit`'s own epoch iterator, found in the frames above the begin hook and shadowed on the instance.

The model is not touched for it. The shadow dies with the object that `fit` made for itself, so after an exception
there is nothing to restore.
"""

import sys
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

_SHADOW = "_get_iterator"


class Fit(NamedTuple):
    """One `fit` on the stack in whose callback list we stand."""

    epoch_iterator: Any | None
    callback_list: Any
    frame: FrameType


def fits_above(callback: Any, depth: int = 1) -> list[Fit]:
    """Innermost first. More than one: the callback is used again in a nested fit."""
    frame: FrameType | None = sys._getframe(depth)
    found: list[Fit] = []
    while frame is not None:
        if frame.f_code.co_name == "fit":
            callbacks = frame.f_locals.get("callbacks")
            if any(member is callback for member in getattr(callbacks, "callbacks", ()) or ()):
                iterator = frame.f_locals.get("epoch_iterator")
                usable = iterator if hasattr(iterator, _SHADOW) else None
                found.append(Fit(usable, callbacks, frame))
        frame = frame.f_back
    return found


class TimedIterable:
    """What the shadow returns: the user's iterable, whose iterators get a timed twin."""

    def __init__(self, iterable: Any, start: Callable[[Any], Any]) -> None:
        self._iterable = iterable
        self._start = start

    def __iter__(self) -> Any:
        return self._start(self._iterable)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterable, name)


def shadow(epoch_iterator: Any, start: Callable[[Any], Any]) -> None:
    """`start(iterable)` makes the iterator. No reference cycle: the user's data must be freed when fit ends."""
    own = vars(epoch_iterator).get(_SHADOW)  # somebody else's shadow: ours goes around it
    if own is not None:
        epoch_iterator._get_iterator = lambda: TimedIterable(own(), start)
        return
    get_iterator = type(epoch_iterator)._get_iterator
    reference = weakref.ref(epoch_iterator)
    epoch_iterator._get_iterator = lambda: TimedIterable(get_iterator(reference()), start)


def unshadow(epoch_iterator: Any) -> None:
    vars(epoch_iterator).pop(_SHADOW, None)
