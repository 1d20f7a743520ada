"""Two fits that take turns: a few steps of one, then a few of the other, never both at once.

A shared machine drifts within a second by more than what is measured here. Fits that stand side by side still differ
by that; with turns of some ten milliseconds both see the same machine. The two real fits run in threads of their own
(or in processes, where a tool changes its whole process) and hand a baton to each other.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from benchmarks.stopwatch import Reading, read_clocks

Turn = Sequence[Reading]  # one reading before each step, and one behind the last
Fit = Callable[["Side"], object]  # calls `step` before each of its steps


class Baton(Protocol):
    """One of its two ends."""

    alone: bool  # the other fit has ended

    def take(self) -> None:
        """Waits for it."""

    def give(self, *, gone: bool = False) -> None:
        """`gone`: for good."""


class ThreadBaton:
    other: "ThreadBaton"

    def __init__(self) -> None:
        self.alone = False
        self._mine = threading.Semaphore(0)

    def take(self) -> None:
        self._mine.acquire()

    def give(self, *, gone: bool = False) -> None:
        self.other.alone |= gone
        self.other.drop_in()

    def drop_in(self) -> None:
        self._mine.release()


class PipeBaton:
    """Between two processes: one byte in a named pipe. A second fit begins where the first one ended."""

    TURN, GONE = b"t", b"g"

    def __init__(self, mine: Path, others: Path) -> None:
        # Both for reading and writing: opening does not wait for the other side, and its end is no end of file.
        self._mine, self._others = os.open(mine, os.O_RDWR), os.open(others, os.O_RDWR)
        self.begin_again()

    def begin_again(self) -> None:
        self.alone, self._begun = False, False

    def take(self) -> None:
        # The last byte of the fit before is the first of this one.
        self.alone = os.read(self._mine, 1) == self.GONE and self._begun
        self._begun = True

    def give(self, *, gone: bool = False) -> None:
        os.write(self._others, self.GONE if gone else self.TURN)


class Side:
    """One of the two fits. Its clocks stand still while the other one runs."""

    def __init__(self, steps_per_turn: int, baton: Baton) -> None:
        self.turns: list[list[Reading]] = []
        self.seconds = 0.0  # of its own, waiting not counted
        self._steps_per_turn = steps_per_turn
        self._baton = baton
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

    def run(self, fit: Fit) -> None:
        self._wait()
        try:
            fit(self)
        finally:
            self._let_go(gone=True)

    def _pass_on(self) -> None:
        if not self._baton.alone:
            self._let_go()
            self._wait()

    def _wait(self) -> None:
        self._baton.take()
        self._took_s = time.perf_counter()

    def _let_go(self, *, gone: bool = False) -> None:
        self.seconds += time.perf_counter() - self._took_s
        self._baton.give(gone=gone)


def take_turns(first: Fit, second: Fit, steps_per_turn: int) -> tuple[Side, Side]:
    """Both fits to their ends; what one of them raises is raised here."""
    batons = ThreadBaton(), ThreadBaton()
    batons[0].other, batons[1].other = batons[1], batons[0]
    sides = Side(steps_per_turn, batons[0]), Side(steps_per_turn, batons[1])
    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(side.run, fit) for side, fit in zip(sides, (first, second), strict=True)]
        batons[0].drop_in()
    for each in running:
        each.result()
    return sides
