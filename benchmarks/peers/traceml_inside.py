"""Runs inside TraceML's environment, started by `traceml run`: one overhead round, or one scene."""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from benchmarks.scenes import Scene

FITS = 6


def overhead(ours: bool, steps: int) -> dict[str, Any]:
    """Short fits one after the other; of each figure the median, without the first, which warms up."""
    from benchmarks.overhead_lightning import BARE, FIVE_MS, OURS, VARIANTS, Size, fit, settle

    settle()
    variant = VARIANTS[OURS if ours else BARE]
    figures = {}
    for name, size in {"tiny": Size(64, 2, steps), "5 ms": Size(*FIVE_MS, max(20, steps // 3))}.items():
        rows = [fit(size, variant)[0] for _ in range(FITS)][1:]
        figures[name] = {figure: statistics.median(row[figure] for row in rows) for figure in rows[0]}
    return figures


def accuracy(scene: Scene, seconds: float) -> dict[str, Any]:
    from benchmarks.workload_lightning import train

    return train(scene, seconds, [], warm=0)  # TraceML's means are over all steps


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("answer", type=Path)
    parser.add_argument("what", choices=("bare", "ours", "scene"))
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--scene", help="input ms, compute ms, workers, extra: as JSON")
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    if options.what == "scene":
        answer = accuracy(Scene(*json.loads(options.scene)), options.seconds)
    else:
        answer = overhead(options.what == "ours", options.steps)
    options.answer.write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
