"""What we set on other people's objects, and how it is taken back."""

import weakref
from collections.abc import Callable
from typing import Any, Final, NamedTuple

_ABSENT: Final = object()


class _Set(NamedTuple):
    """One attribute that we set."""

    owner: Callable[[], Any | None]  # None: a weakly held owner is gone, and there is nothing to take back
    name: str
    before: Any
    ours: Any

    def take_back(self) -> None:
        owner = self.owner()
        if owner is None or vars(owner).get(self.name) is not self.ours:
            return  # somebody else has wrapped ours meanwhile: taking theirs away would be our damage
        if self.before is _ABSENT:
            delattr(owner, self.name)
        else:
            setattr(owner, self.name, self.before)


class Undo:
    """Instance attributes only: classes, and so every other training, stay as they are."""

    def __init__(self) -> None:
        self._set: list[_Set] = []
        self._actions: list[Callable[[], None]] = []

    def set(self, owner: Any, name: str, value: Any, *, weak: bool = False) -> None:
        """`weak`: the owner may die before we take the attribute back. Keras' own objects of a fit hold the user's
        data: after an error nobody but the traceback may hold them. The value must not hold the owner either.
        """
        held: Callable[[], Any | None] = weakref.ref(owner) if weak else lambda: owner
        self._set.append(_Set(held, name, vars(owner).get(name, _ABSENT), value))
        setattr(owner, name, value)

    def later(self, action: Callable[[], None]) -> None:
        """Something else to take back."""
        self._actions.append(action)

    def back(self, owner: Any, name: str) -> None:
        """One attribute, before the end."""
        found = [entry for entry in self._set if entry.name == name and entry.owner() is owner]
        self._set = [entry for entry in self._set if not any(entry is taken for taken in found)]
        for entry in found:
            entry.take_back()

    def all(self) -> None:
        """Everything. One that raises does not stop the others: each leaves the list before it is taken back."""
        try:
            while self._set:
                self._set.pop().take_back()
            while self._actions:
                self._actions.pop()()
        finally:
            if self._set or self._actions:
                self.all()


def wrap(undo: Undo, owner: Any, name: str, enter: Callable[[], None], leave: Callable[[], None]) -> None:
    """`enter` and `leave` must not raise."""
    original = getattr(owner, name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        enter()
        try:
            return original(*args, **kwargs)
        finally:
            leave()

    wrapped.__wrapped__ = original  # type: ignore[attr-defined]
    undo.set(owner, name, wrapped)
