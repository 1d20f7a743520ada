"""Runs inside TraceML's environment, started by `traceml run`: one of two fits in turns, or one scene."""

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.scenes import Scene


def overhead(ours: bool, size: str, steps: int, fits: int, pipes: list[Path]) -> list[dict[str, float]]:
    """The figures of each fit, without the first, which warms up. Another process makes as many, in turns."""
    from benchmarks.overhead_lightning import BARE, LONGER, OURS, TINY, Player, settle
    from benchmarks.stopwatch import WARM_STEPS, figures
    from benchmarks.turns import PipeBaton, Side

    settle()
    shape = {"tiny": TINY, "5 ms": LONGER}[size]
    player, name, baton, rows = Player(shape), OURS if ours else BARE, PipeBaton(*pipes), []
    for number in range(fits + 1):
        baton.begin_again()
        side = Side(shape.steps_per_turn, baton)
        side.run(lambda side, count=steps if number else 10: player.fit(name, side, count + WARM_STEPS))
        rows.append(figures(side.turns, side.seconds))
    return rows[1:]


def accuracy(scene: Scene, seconds: float) -> dict[str, Any]:
    from benchmarks.workload_lightning import train

    return train(scene, seconds, [], warm=0)  # TraceML's means are over all steps


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("answer", type=Path)
    parser.add_argument("what", choices=("bare", "ours", "scene"))
    parser.add_argument("--size", default="tiny")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--fits", type=int, default=3)
    parser.add_argument("--pipes", type=Path, nargs=2)
    parser.add_argument("--scene", help="input ms, compute ms, workers, extra: as JSON")
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    answer: Any
    if options.what == "scene":
        answer = accuracy(Scene(*json.loads(options.scene)), options.seconds)
    else:
        answer = overhead(options.what == "ours", options.size, options.steps, options.fits, options.pipes)
    options.answer.write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
