"""Which variant is worth a turn next, and which one to use."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from feedwatch.trial.compare import Measured
from feedwatch.trial.variant import AS_IS, CEILING, Variant

# Of a step: a loop that waits less than this has enough.
ENOUGH_WAIT: Final = 0.02
# A setting as close as this to the fastest is as good; the smaller one wins.
AS_GOOD: Final = 1.03

Results = Mapping[str, Measured]  # by name of the variant


class Search(Protocol):
    def next(self, results: Results, left_out: frozenset[str]) -> Variant | None:
        """One that has had no turn yet. None: nothing else is worth trying. `left_out`: refused, or it raised."""
        ...

    def pick(self, results: Results) -> Variant | None:
        """None: as it is."""
        ...


def enough(name: str, results: Results) -> bool:
    """The loop hardly waits, or is as fast as with one cached batch."""
    own, best = results.get(name), results.get(CEILING.name)
    if own is None:
        return False
    if own.wait_share is not None and own.wait_share < ENOUGH_WAIT:
        return True
    return best is not None and own.step_ns <= best.step_ns * (1 + ENOUGH_WAIT)


def gain_of(name: str, results: Results) -> float:
    """The middle of its interval; 1.0 for the run as it is."""
    own = results.get(name)
    return (own.middle if own is not None else None) or 1.0


def surely_better(name: str, than: str, results: Results) -> bool:
    """By enough to be worth it, and by more than its own interval leaves open."""
    own = results.get(name)
    if own is None or own.speedup is None:
        return False
    base = gain_of(than, results)
    return gain_of(name, results) >= base * AS_GOOD and own.speedup.low > base


class WorkerSearch:
    """How many workers: up from the advised number in doublings, or down from what there are, then between."""

    def __init__(
        self, now: int, most: int, make: Callable[[int], Variant], advised: int | None = None, *, least: int = 0
    ) -> None:
        """`make`: the variant with so many workers. `most`: what the machine and the data set carry."""
        self._now, self._most, self._least, self._make, self._advised = now, most, least, make, advised

    def next(self, results: Results, left_out: frozenset[str]) -> Variant | None:
        for workers in self._wanted(results):
            variant = self._make(workers)
            if workers != self._now and variant.name not in results and variant.name not in left_out:
                return variant
        return None

    def pick(self, results: Results) -> Variant | None:
        best = self._best(self._tried(results), results)
        return None if best is None or best == self._now else self._make(best)

    def name(self, workers: int) -> str:
        return AS_IS.name if workers == self._now else self._make(workers).name

    def _tried(self, results: Results) -> list[int]:
        return [workers for workers in range(self._most + 1) if self.name(workers) in results] + (
            [self._now] if self._now > self._most and AS_IS.name in results else []
        )

    def _best(self, tried: Sequence[int], results: Results) -> int | None:
        """The smallest with enough, unless a larger one is clearly faster all the same; else the smallest of the
        fastest.
        """
        if not tried:
            return None
        fastest = max(gain_of(self.name(workers), results) for workers in tried)
        good = [workers for workers in tried if gain_of(self.name(workers), results) * AS_GOOD >= fastest]
        return min(good)

    def _wanted(self, results: Results) -> Iterable[int]:
        tried = self._tried(results)
        if self._now not in tried:
            return
        if not enough(self.name(self._now), results):
            yield from self._upwards(results)
        if self._now > 0:
            yield from self._downwards(results)
        yield from self._between(results)

    def _upwards(self, results: Results) -> Iterable[int]:
        first = self._advised if self._advised is not None and self._advised > self._now else max(1, 2 * self._now)
        workers = min(first, self._most)
        before = self._now
        while workers > before:
            yield workers
            name = self.name(workers)
            if name not in results or enough(name, results):
                return
            if gain_of(name, results) < gain_of(self.name(before), results) * AS_GOOD:
                return
            before, workers = workers, min(2 * workers, self._most)

    def _downwards(self, results: Results) -> Iterable[int]:
        """Fewer is an answer too, as long as nothing is lost by it."""
        workers = self._now
        while workers > self._least:
            workers //= 2
            if workers > self._most:
                continue
            yield workers
            if gain_of(self.name(workers), results) * AS_GOOD < 1.0:
                return

    def _between(self, results: Results) -> Iterable[int]:
        """The smallest that is as good as the best lies between the best and the next smaller one that is not."""
        while True:
            tried = self._tried(results)
            best = self._best(tried, results)
            if best is None:
                return
            smaller = [workers for workers in tried if workers < best]
            low = max(smaller, default=best)
            if best - low < 2:
                return
            yield (low + best) // 2


class ListSearch:
    """Single changes, then all that helped together."""

    def __init__(
        self,
        singles: Sequence[Variant],
        together: Callable[[Sequence[Variant]], Variant],
        base: str = AS_IS.name,
    ) -> None:
        """`base`: the variant on which the changes are made."""
        self._singles, self._together, self._base = singles, together, base

    def next(self, results: Results, left_out: frozenset[str]) -> Variant | None:
        for variant in self._singles:
            if variant.name not in results and variant.name not in left_out:
                return variant
        both = self._combined(results)
        return both if both is not None and both.name not in results and both.name not in left_out else None

    def pick(self, results: Results) -> Variant | None:
        """The smallest edit that is as good as the fastest."""
        both = self._combined(results)
        tried = [one for one in [*self._singles, *([both] if both else [])] if one.name in results]
        if not tried:
            return None
        better = [one for one in tried if surely_better(one.name, self._base, results)]
        fastest = max((gain_of(one.name, results) for one in better), default=1.0)
        good = [one for one in better if gain_of(one.name, results) * AS_GOOD >= fastest]
        return min(good, key=lambda one: len(one.settings), default=None)

    def _combined(self, results: Results) -> Variant | None:
        helped = [one for one in self._singles if surely_better(one.name, self._base, results)]
        return self._together(helped) if len(helped) > 1 else None


class Chain:
    """One search after the other; a later one builds on what the earlier ones picked."""

    def __init__(self, first: Search, then: Callable[[Variant | None], Search]) -> None:
        """`then`: given what was picked before."""
        self._first, self._then = first, then
        self._second: tuple[str | None, Search] | None = None

    def next(self, results: Results, left_out: frozenset[str]) -> Variant | None:
        return self._first.next(results, left_out) or self._behind(results).next(results, left_out)

    def pick(self, results: Results) -> Variant | None:
        return self._behind(results).pick(results) or self._first.pick(results)

    def _behind(self, results: Results) -> Search:
        base = self._first.pick(results)
        name = None if base is None else base.name
        if self._second is None or self._second[0] != name:
            self._second = (name, self._then(base))
        return self._second[1]
