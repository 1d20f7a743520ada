"""Exclusive-time ledger: at any moment the thread is in exactly one category, so the parts add up to wall time.

That holds by construction, nesting included: a copy inside a fetch, a checkpoint inside a callback, a fetch
inside the step. What cannot be attributed (a backward clock, a jump, an unpaired mark) is dropped and counted.
"""

from collections.abc import Callable
from typing import Final

from feedwatch.measure.clock import SYSTEM_CLOCK

# No single span of a step lasts an hour: such a span is a suspended machine or a broken clock.
MAX_SPAN_NS: Final = 3_600_000_000_000
# Real nesting is about six deep; more means that ends are missing.
MAX_DEPTH: Final = 64

UNCLAIMED: Final = 0


class Ledger:
    __slots__ = ("_current", "_last_ns", "_now_ns", "_spent", "_stack", "dropped", "names")

    def __init__(self, names: tuple[str, ...], now_ns: Callable[[], int] = SYSTEM_CLOCK.now_ns) -> None:
        """`names[0]` is the category of all time that nobody claims."""
        self.names = list(names)
        self.dropped = 0
        self._now_ns = now_ns
        self._spent = [0] * len(names)
        self._stack: list[int] = []
        self._current = UNCLAIMED
        self._last_ns = now_ns()

    def category(self, name: str) -> int:
        """The number of a category, made on first use (one per callback of the user's, for instance)."""
        if name not in self.names:
            self.names.append(name)
            self._spent.append(0)
        return self.names.index(name)

    # push and pop settle the open span in place: as a call of its own it would be half of what a mark costs.

    def push(self, category: int) -> None:
        now_ns = self._now_ns()
        span_ns = now_ns - self._last_ns
        self._last_ns = now_ns
        if 0 <= span_ns <= MAX_SPAN_NS:
            self._spent[self._current] += span_ns
        else:
            self.dropped += 1
        stack = self._stack
        if len(stack) < MAX_DEPTH:
            stack.append(self._current)
            self._current = category
        else:
            self.dropped += 1

    def pop(self, category: int) -> None:
        """Leave `category`. Marks that were never ended inside it are ended here, and counted."""
        now_ns = self._now_ns()
        span_ns = now_ns - self._last_ns
        self._last_ns = now_ns
        if 0 <= span_ns <= MAX_SPAN_NS:
            self._spent[self._current] += span_ns
        else:
            self.dropped += 1
        if self._current == category and self._stack:
            self._current = self._stack.pop()
        else:
            self._unwind(category)

    def cut(self) -> list[int]:
        """Nanoseconds per category since the last cut; their sum is the wall time (less what was dropped)."""
        self._settle()
        spent = self._spent
        self._spent = [0] * len(spent)
        return spent

    def reset(self) -> None:
        """Forget what is open: after an exception no end mark will come."""
        self._stack.clear()
        self._current = UNCLAIMED
        self._spent = [0] * len(self._spent)
        self._last_ns = self._now_ns()

    @property
    def depth(self) -> int:
        return len(self._stack)

    def _settle(self) -> None:
        now_ns = self._now_ns()
        span_ns = now_ns - self._last_ns
        if 0 <= span_ns <= MAX_SPAN_NS:
            self._spent[self._current] += span_ns
        else:
            self.dropped += 1
        self._last_ns = now_ns

    def _unwind(self, category: int) -> None:
        self.dropped += 1
        if category not in self._stack:
            return
        while self._current != category:
            self._current = self._stack.pop()
        self._current = self._stack.pop() if self._stack else UNCLAIMED
