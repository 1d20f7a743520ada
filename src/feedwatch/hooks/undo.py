"""What we set on other people's objects, and how it is taken back."""

from collections.abc import Callable
from typing import Any, Final

_ABSENT: Final = object()


class Undo:
    """Instance attributes only: classes, and so every other Trainer, stay as they are."""

    def __init__(self) -> None:
        self._set: list[tuple[Any, str, Any, Any]] = []
        self._actions: list[Callable[[], None]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        self._set.append((owner, name, vars(owner).get(name, _ABSENT), value))
        setattr(owner, name, value)

    def later(self, action: Callable[[], None]) -> None:
        """Something else to take back."""
        self._actions.append(action)

    def back(self, owner: Any, name: str) -> None:
        """One attribute, before the end."""
        for entry in [each for each in self._set if each[0] is owner and each[1] == name]:
            self._set.remove(entry)
            _take_back(*entry)

    def all(self) -> None:
        """Everything, whatever one of them raises: each is taken off the list before it is taken back."""
        try:
            while self._set:
                _take_back(*self._set.pop())
            while self._actions:
                self._actions.pop()()
        finally:
            if self._set or self._actions:
                self.all()


def _take_back(owner: Any, name: str, before: Any, ours: Any) -> None:
    if vars(owner).get(name) is not ours:
        return  # somebody wrapped us meanwhile: taking theirs away would be our damage
    if before is _ABSENT:
        delattr(owner, name)
    else:
        setattr(owner, name, before)


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
