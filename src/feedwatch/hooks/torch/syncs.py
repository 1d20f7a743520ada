"""Does the host wait for the device at every step? Two clocks tell, without a question to the device.

The lag of a mark is how far the host was ahead of the device when it set it. Work that is enqueued lets the lag grow.
Only waiting lets it shrink: for data (a fetch), for a copy, for slow host code (then the device runs dry and its own
clock shows the idle time), or for the device itself, which is a synchronisation.
"""

from collections import Counter, deque
from typing import Final

# Ten per cent of a step is worth a word; a lag below two per cent is none.
WORTH: Final = 0.10
NOTHING: Final = 0.02
# Long enough to have met the lowest lag, short enough that the two clocks do not drift apart.
STEPS: Final = 64
LEAST_STEPS: Final = 16


class Syncs:
    def __init__(self, other: int, compute: int, wait: int) -> None:
        self._other, self._compute, self._wait = other, compute, wait
        self._lag_ns = 0.0
        self._lowest_ns: deque[float] = deque(maxlen=STEPS)
        self.steps = 0
        self._waits: Counter[int] = Counter()

    def interrupted(self) -> None:
        """An epoch ended or a step was dropped: the chain of lags is cut."""
        self._lag_ns = 0.0
        self._lowest_ns.clear()

    def add(self, categories: list[int], host_ns: list[int], passed_ns: list[float]) -> None:
        """Marks of one step: category from each mark on, host time and device time at each mark (one more)."""
        lags = [self._lag_ns + passed - (host - host_ns[0]) for host, passed in zip(host_ns, passed_ns, strict=True)]
        self._lag_ns = lags[-1]
        self._lowest_ns.append(min(lags))
        if len(self._lowest_ns) < LEAST_STEPS:
            return
        self.steps += 1
        place = self._waiting_place(categories, lags, passed_ns)
        if place is not None:
            self._waits[place] += 1

    @property
    def place(self) -> int | None:
        """The category in which the host waits for the device in nearly every step, or None."""
        if self.steps < LEAST_STEPS or not self._waits:
            return None
        place, steps = self._waits.most_common(1)[0]
        return place if steps >= 0.8 * self.steps else None

    def _waiting_place(self, categories: list[int], lags: list[float], passed_ns: list[float]) -> int | None:
        step_ns = passed_ns[-1]
        zero_ns = min(self._lowest_ns)
        if min(lags) - zero_ns > NOTHING * step_ns:
            return None  # the host stayed ahead all the time
        fallen = {self._other: 0.0, self._compute: 0.0}
        dry_ns = 0.0
        for at, category in enumerate(categories):
            if category in fallen:
                fallen[category] += max(0.0, lags[at] - lags[at + 1])
            if category in (self._other, self._wait):
                dry_ns += passed_ns[at + 1] - passed_ns[at]
        place, drop_ns = max(fallen.items(), key=lambda entry: entry[1])
        return place if drop_ns > WORTH * step_ns and dry_ns < drop_ns / 2 else None
