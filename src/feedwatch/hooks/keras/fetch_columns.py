"""Many fetches at once, as two columns: what a graph wrote is read, and mostly paired, without a loop in Python."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from feedwatch.hooks.keras.attribution import Fetch

Nanoseconds: TypeAlias = NDArray[np.int64]


class FetchColumns(Sequence[Fetch]):
    """In the order in which they were asked for."""

    __slots__ = ("asked_ns", "got_ns")

    def __init__(self, asked_ns: Nanoseconds, got_ns: Nanoseconds) -> None:
        self.asked_ns, self.got_ns = asked_ns, got_ns

    def __len__(self) -> int:
        return len(self.asked_ns)

    def __iter__(self) -> Iterator[Fetch]:
        return map(Fetch, self.asked_ns.tolist(), self.got_ns.tolist())

    @overload
    def __getitem__(self, at: int) -> Fetch: ...

    @overload
    def __getitem__(self, at: slice) -> "FetchColumns": ...

    def __getitem__(self, at: int | slice) -> "Fetch | FetchColumns":
        if isinstance(at, slice):
            return FetchColumns(self.asked_ns[at], self.got_ns[at])
        return Fetch(int(self.asked_ns[at]), int(self.got_ns[at]))

    def asked_before(self, ns: int) -> int:
        """How many, from the first on."""
        later = self.asked_ns >= ns
        return int(np.argmax(later)) if later.any() else len(self)

    def followed_by(self, others: "FetchColumns") -> "FetchColumns":
        if not len(self):
            return others
        return FetchColumns(np.append(self.asked_ns, others.asked_ns), np.append(self.got_ns, others.got_ns))


def no_fetches() -> FetchColumns:
    return FetchColumns(np.empty(0, np.int64), np.empty(0, np.int64))
