"""Quantiles in bounded memory: logarithmic buckets, each 2 % wide, so any quantile is within 1 % of the truth."""

from collections import Counter
from collections.abc import Iterable
from math import ceil, log
from typing import Final

RELATIVE_ERROR: Final = 0.01
_GAMMA: Final = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
_SCALE: Final = 1 / log(_GAMMA)
# 1 ns to 10^14 ns (a day) fit into 1,612 buckets; what lies outside is clamped, so the dict cannot grow.
_MAX_KEY: Final = ceil(log(1e14) * _SCALE)


class Sketch:
    __slots__ = ("_buckets", "_zeros", "count", "total")

    def __init__(self) -> None:
        self._buckets: dict[int, int] = {}
        self._zeros = 0
        self.count = 0
        self.total = 0

    def add(self, value: int) -> None:
        self.count += 1
        if value < 1:
            self._zeros += 1
            return
        self.total += value
        key = min(_MAX_KEY, ceil(log(value) * _SCALE))
        self._buckets[key] = self._buckets.get(key, 0) + 1

    def add_all(self, values: Iterable[int]) -> None:
        """Many at once: the logarithms dominate, and a Counter adds up in C."""
        everything = list(values)
        positive = [value for value in everything if value >= 1]
        self._zeros += len(everything) - len(positive)
        self.total += sum(positive)
        self.count += len(everything)
        keys = Counter([min(_MAX_KEY, ceil(log(value) * _SCALE)) for value in positive])
        for key, count in keys.items():
            self._buckets[key] = self._buckets.get(key, 0) + count

    def quantile(self, share: float) -> float | None:
        """The value below which `share` of the values lie, or None without values."""
        if not self.count:
            return None
        rank = share * (self.count - 1)
        seen = self._zeros
        if rank < seen:
            return 0.0
        for key in sorted(self._buckets):
            seen += self._buckets[key]
            if rank < seen:
                return float(2 * _GAMMA**key / (_GAMMA + 1))
        return float(2 * _GAMMA ** max(self._buckets) / (_GAMMA + 1))

    @property
    def buckets(self) -> int:
        return len(self._buckets)
