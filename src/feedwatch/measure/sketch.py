"""Quantiles in bounded memory: logarithmic buckets, each 2 % wide, so any quantile is within 1 % of the truth."""

from collections import Counter
from collections.abc import Iterable
from math import log
from typing import Final

RELATIVE_ERROR: Final = 0.01
_GAMMA: Final = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
_SCALE: Final = 1 / log(_GAMMA)
# A day in nanoseconds: larger values are clamped, so there are at most 1,605 buckets.
_LARGEST: Final = 86_400 * 10**9


class Sketch:
    """Bucket k holds the values from gamma^k up to gamma^(k+1)."""

    __slots__ = ("_buckets", "_zeros", "count", "total")

    def __init__(self) -> None:
        self._buckets: Counter[int] = Counter()
        self._zeros = 0
        self.count = 0
        self.total = 0

    def add(self, value: int) -> None:
        self.add_all((value,))

    def add_all(self, values: Iterable[int]) -> None:
        """Many at once: the logarithms dominate, and a Counter adds up in C."""
        everything = list(values)
        if not everything:
            return
        positive = [value for value in everything if value >= 1]
        self.count += len(everything)
        self._zeros += len(everything) - len(positive)
        self.total += sum(positive)
        if max(everything) > _LARGEST:
            positive = [min(value, _LARGEST) for value in positive]
        self._buckets.update([int(log(value) * _SCALE) for value in positive])

    def quantile(self, share: float) -> float | None:
        """The value below which `share` of the values lie, or None without values."""
        if not self.count:
            return None
        rank = share * (self.count - 1)
        seen = self._zeros
        if rank < seen:
            return 0.0
        key = 0
        for key in sorted(self._buckets):
            seen += self._buckets[key]
            if rank < seen:
                break
        return float(2 * _GAMMA ** (key + 1) / (_GAMMA + 1))

    @property
    def buckets(self) -> int:
        return len(self._buckets)
