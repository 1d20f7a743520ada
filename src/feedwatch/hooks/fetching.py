"""Where batches come from: what stands in for the user's loader while its fetches are timed."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

Batch = TypeVar("Batch")


class WatchedIterable(Generic[Batch]):
    """The user's iterable, whose iterators are made by us. Its length and its attributes are the user's own."""

    def __init__(self, iterable: "Iterable[Batch]", start: "Callable[[Iterable[Batch]], Iterator[Batch]]") -> None:
        self._iterable, self._start = iterable, start

    def __iter__(self) -> "Iterator[Batch]":
        return self._start(self._iterable)

    def __len__(self) -> int:
        return len(self._iterable)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        """A generator has no length, and is true all the same."""
        return bool(self._iterable)

    def __getattr__(self, name: str) -> Any:
        if name in ("_iterable", "_start"):  # not set yet: the object is being copied or unpickled
            raise AttributeError(name)
        return getattr(self._iterable, name)


class WatchedIterator(WatchedIterable[Batch]):
    """Of something that is an iterator itself: `next` asks it for one batch after the other, in one walk."""

    _walk: "Iterator[Batch] | None" = None

    def __next__(self) -> Batch:
        if self._walk is None:
            self._walk = iter(self)
        return next(self._walk)


class RememberedIterable(WatchedIterable[Batch]):
    """Remembers the iterator that it made: a script that does not know of us may ask that one for more than batches."""

    _made: "Iterator[Batch] | None" = None

    def __iter__(self) -> "Iterator[Batch]":
        self._made = super().__iter__()
        return self._made

    def seen_through(self, walk: "Iterator[Batch]") -> "Iterator[Batch]":
        """The batches of a walk, by something with the length and the attributes of the iterator behind it."""
        return walk if self._made is None or self._made is walk else _SeenThrough(walk, self._made)


class _SeenThrough(Generic[Batch]):
    def __init__(self, walk: "Iterator[Batch]", behind: "Iterator[Batch]") -> None:
        self._walk, self._behind = walk, behind

    def __iter__(self) -> "_SeenThrough[Batch]":
        return self

    def __next__(self) -> Batch:
        return next(self._walk)

    def __len__(self) -> int:
        return len(self._behind)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)
