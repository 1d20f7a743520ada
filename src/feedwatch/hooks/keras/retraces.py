"""Which calls of the train function traced it anew."""

from collections.abc import Callable, Sequence


class Retraces:
    """`traces_ns`: when it was traced, in order; None where the framework does not trace."""

    def __init__(self) -> None:
        self.traces_ns: Callable[[], Sequence[int]] | None = None
        self.count = 0  # after the first call
        self._until_ns: int | None = None

    def traced(self, end_ns: int) -> bool:
        """Since the call before this one. The first call counts as traced: in another fit it may have been."""
        if self.traces_ns is None:
            return False
        if self._until_ns is None:
            self._until_ns = end_ns
            return True
        for traced_ns in reversed(self.traces_ns()):
            if traced_ns <= self._until_ns:  # mostly at once: the last trace is long ago
                return False
            if traced_ns <= end_ns:
                self._until_ns = end_ns
                self.count += 1
                return True
        return False
