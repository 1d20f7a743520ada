"""Two fits that take turns in one process: a few steps of one, then a few of the other, never both at once.

A shared machine drifts within a second by more than what is measured here. Fits that stand side by side still differ
by that; with turns of some ten milliseconds both see the same machine. The two real fits run in threads of their own
and hand a baton to each other.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from benchmarks.stopwatch import Reading, read_clocks

Turn = Sequence[Reading]  # one reading before each step, and one behind the last
Fit = Callable[["Side"], None]  # calls `step` before each of its steps


class Side:
    """One of the two fits. Its clocks stand still while the other one runs."""

    def __init__(self, steps_per_turn: int) -> None:
        self.turns: list[list[Reading]] = []
        self.seconds = 0.0  # of its own, waiting not counted
        self._steps_per_turn = steps_per_turn
        self._baton = threading.Semaphore(0)
        self._other: Side | None = None
        self._gone = False
        self._took_s = 0.0

    def step(self) -> None:
        if not self.turns:
            self.turns.append([])
        turn = self.turns[-1]
        turn.append(read_clocks())
        if len(turn) > self._steps_per_turn:
            self._pass_on()
            self.turns.append([read_clocks()])

    def step_us(self) -> float:
        """Mean of a step as its own fit sees it: the other's turns are in it."""
        steps = sum(len(turn) - 1 for turn in self.turns)
        return (self.turns[-1][-1][0] - self.turns[0][0][0]) / steps / 1e3

    def run(self, fit: Fit, other: "Side") -> None:
        self._other = other
        self._wait()
        try:
            fit(self)
        finally:
            self._gone = True
            self._let_go()

    def give_baton(self) -> None:
        self._baton.release()

    def _pass_on(self) -> None:
        assert self._other is not None
        if not self._other._gone:
            self._let_go()
            self._wait()

    def _wait(self) -> None:
        self._baton.acquire()
        self._took_s = time.perf_counter()

    def _let_go(self) -> None:
        assert self._other is not None
        self.seconds += time.perf_counter() - self._took_s
        self._other.give_baton()


def take_turns(first: Fit, second: Fit, steps_per_turn: int) -> tuple[Side, Side]:
    """Both fits to their ends; what one of them raises is raised here."""
    sides = Side(steps_per_turn), Side(steps_per_turn)
    with ThreadPoolExecutor(2) as threads:
        running = [
            threads.submit(sides[0].run, first, sides[1]),
            threads.submit(sides[1].run, second, sides[0]),
        ]
        sides[0].give_baton()
    for each in running:
        each.result()
    return sides
