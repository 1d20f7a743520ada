"""Quantiles in bounded memory: logarithmic buckets, each 2 % wide, so any quantile is within 1 % of the truth."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from functools import cache
from math import inf, log
from typing import Final

RELATIVE_ERROR: Final = 0.01
_GAMMA: Final = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
_SCALE: Final = 1 / log(_GAMMA)
# A day in nanoseconds: larger values are clamped, so there are at most 1,605 buckets.
_LARGEST: Final = 86_400 * 10**9


def _bucket(value: int) -> int:
    return int(log(min(value, _LARGEST)) * _SCALE)


@cache
def _end(bucket: int) -> float:
    """The first value behind it."""
    if bucket >= _bucket(_LARGEST):
        return inf
    value = int(_GAMMA ** (bucket + 1))
    while _bucket(value) > bucket:  # the power is rounded, and so is the logarithm
        value -= 1
    while _bucket(value) <= bucket:
        value += 1
    return value


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
        """Many at once, in order: then one bucket after the other takes all of its values with one look."""
        ordered = sorted(values)
        count, at = len(ordered), bisect_left(ordered, 1)
        self.count += count
        self._zeros += at
        self.total += sum(ordered[at:])
        while at < count:
            bucket = _bucket(ordered[at])
            behind = bisect_left(ordered, _end(bucket), at)
            self._buckets[bucket] += behind - at
            at = behind

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
