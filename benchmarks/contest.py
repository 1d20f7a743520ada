"""One variant against its base, sharply: two equal players take turns, and in every pair both play both parts.

That one of two equal models lies better in memory is no cost of a callback. Fits are long, so that what happens once a
second is in every one of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from benchmarks.paired import Pair, compared, spread
from benchmarks.stopwatch import WARM_STEPS, figures, mean_figures
from benchmarks.turns import Side, take_turns
from feedwatch.model.report import Report

# 2: being called, and the end of training, are in what feedwatch says of itself.
MEANING = 2


class Player(Protocol):
    def fit(self, name: str, side: Side | None, steps: int) -> Report | None:
        """Train with this variant, a step of the side before each step; feedwatch's report where it watched."""


@dataclass(frozen=True, slots=True)
class Said:
    """What feedwatch said of itself after one fit."""

    thread_us: float  # per step, on the training thread
    at_most_us: float  # with the CPU time of its own thread
    once_ms: float


def said_by(report: Report, side: Side) -> Said | None:
    own = report.self_cost
    if own.us_per_step is None or own.overhead_ratio is None or report.startup.own_ms is None:
        return None
    return Said(own.us_per_step, own.overhead_ratio * side.step_us(), report.startup.own_ms)


class Contest:
    def __init__(self, players: tuple[Player, Player], steps: int, steps_per_turn: int) -> None:
        self._players, self._steps, self._per_turn = players, steps, steps_per_turn
        self._said: list[Said] = []

    def measure(self, pairs: Mapping[str, int], against: Mapping[str, str]) -> dict[str, Any]:
        """`pairs`: how many per variant. Variants alternate, too: each of them sees the whole measurement."""
        for name in {*pairs, *(against[name] for name in pairs)}:
            for player in self._players:
                player.fit(name, None, WARM_STEPS)
        taken: dict[str, list[Pair]] = {name: [] for name in pairs}
        for number in range(max(pairs.values())):
            for name in (name for name, count in pairs.items() if number < count):
                taken[name].append(self.pair(name, against[name], number))
        return {name: compared(rows, against[name]) for name, rows in taken.items()}

    def pair(self, name: str, against: str, number: int) -> Pair:
        """The variant's figures and those of its base; in turns who begins."""
        order = (0, 1) if number % 2 else (1, 0)
        swapped = [
            self._side_by_side((name, against), players, order) for players in (self._players, self._players[::-1])
        ]
        return mean_figures([rows[0] for rows in swapped]), mean_figures([rows[1] for rows in swapped])

    def says_of_itself(self) -> dict[str, Any]:
        if not self._said:
            return {}
        spreads = {name: spread([getattr(said, name) for said in self._said]).as_dict() for name in Said.__slots__}
        return {**spreads, "meaning": MEANING}

    def _side_by_side(
        self, parts: tuple[str, str], players: Sequence[Player], order: tuple[int, int]
    ) -> list[dict[str, float]]:
        fits = [partial(self._play, parts[at], players[at]) for at in order]
        sides = take_turns(*fits, self._per_turn)
        by_part = [sides[order.index(at)] for at in (0, 1)]
        return [figures(side.turns, side.seconds) for side in by_part]

    def _play(self, part: str, player: Player, side: Side) -> None:
        report = player.fit(part, side, self._steps + WARM_STEPS)
        said = None if report is None else said_by(report, side)
        if said is not None:
            self._said.append(said)
