"""Many fetches at once, as columns: what a graph wrote is read, and mostly paired, without a loop in Python."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from feedwatch.hooks.keras.attribution import Fetch

Integers: TypeAlias = NDArray[np.int64]


class FetchColumns(Sequence[Fetch]):
    """In the order in which they were asked for. `samples`: 0 where a fetch does not tell."""

    __slots__ = ("asked_ns", "got_ns", "samples")

    def __init__(self, asked_ns: Integers, got_ns: Integers, samples: Integers) -> None:
        self.asked_ns, self.got_ns, self.samples = asked_ns, got_ns, samples

    def __len__(self) -> int:
        return len(self.asked_ns)

    def __iter__(self) -> Iterator[Fetch]:
        return map(_fetch, self.asked_ns.tolist(), self.got_ns.tolist(), self.samples.tolist())

    @overload
    def __getitem__(self, at: int) -> Fetch: ...

    @overload
    def __getitem__(self, at: slice) -> "FetchColumns": ...

    def __getitem__(self, at: int | slice) -> "Fetch | FetchColumns":
        if isinstance(at, slice):
            return FetchColumns(self.asked_ns[at], self.got_ns[at], self.samples[at])
        return _fetch(int(self.asked_ns[at]), int(self.got_ns[at]), int(self.samples[at]))

    def asked_before(self, ns: int) -> int:
        """How many, from the first on."""
        later = self.asked_ns >= ns
        return int(np.argmax(later)) if later.any() else len(self)

    def followed_by(self, others: "FetchColumns") -> "FetchColumns":
        if not len(self):
            return others
        return FetchColumns(
            np.append(self.asked_ns, others.asked_ns),
            np.append(self.got_ns, others.got_ns),
            np.append(self.samples, others.samples),
        )


def _fetch(asked_ns: int, got_ns: int, samples: int) -> Fetch:
    return Fetch(asked_ns, got_ns, samples or None)


def no_fetches() -> FetchColumns:
    none = np.empty(0, np.int64)
    return FetchColumns(none, none, none)
