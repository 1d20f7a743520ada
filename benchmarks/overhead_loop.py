"""What `watch(loader)` adds to one batch of a plain PyTorch loop.

Two loops take turns in one process, a few steps of one and then of the other (see turns.py): once with the same loader
bare and once watched. In every pair both loops play both parts.
"""

import os
import tempfile
from functools import partial
from typing import Any

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
# One thread in each of the two loops: with two busy cores a pool of spinning threads would be most of the noise. Set
# here, because torch's own setting holds for the thread that sets it only.
os.environ["OMP_NUM_THREADS"] = "1"

import torch
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.paired import compared
from benchmarks.part import Effort, run_part
from benchmarks.stopwatch import WARM_STEPS, figures, mean_figures
from benchmarks.turns import Side, take_turns
from feedwatch.torch import FeedWatch

BARE, OURS = "no watch", "feedwatch"
BATCH, PER_TURN = 8, 25
SIZES = {"0.2 ms step": (64, 2000), "2 ms step": (700, 400)}  # width of the model, steps


class Loop:
    def __init__(self, width: int, steps: int) -> None:
        torch.manual_seed(0)
        rows = BATCH * (steps + WARM_STEPS)
        self._model = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 1))
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=0.001)
        self._loader = DataLoader(TensorDataset(torch.randn(rows, width), torch.randn(rows, 1)), batch_size=BATCH)

    def run(self, name: str, side: Side) -> None:
        with tempfile.TemporaryDirectory() as directory:
            if name == BARE:
                self._train(self._loader, side)
            else:
                with FeedWatch(directory, console=False) as watch:
                    self._train(watch(self._loader), side)

    def _train(self, batches: Any, side: Side) -> None:
        for inputs, targets in batches:
            side.step()
            self._optimizer.zero_grad()
            torch.nn.functional.mse_loss(self._model(inputs), targets).backward()
            self._optimizer.step()


def pair(loops: tuple[Loop, Loop], number: int) -> tuple[dict[str, float], dict[str, float]]:
    parts = (OURS, BARE) if number % 2 else (BARE, OURS)
    rows: dict[str, list[dict[str, float]]] = {BARE: [], OURS: []}
    for players in (loops, loops[::-1]):
        sides = take_turns(*(partial(loop.run, part) for loop, part in zip(players, parts, strict=True)), PER_TURN)
        for part, side in zip(parts, sides, strict=True):
            rows[part].append(figures(side.turns, side.seconds))
    return mean_figures(rows[OURS]), mean_figures(rows[BARE])


def measure(width: int, steps: int, pairs: int) -> dict[str, Any]:
    loops = Loop(width, steps), Loop(width, steps)
    pair(loops, 0)  # everything is imported and warm
    return {"variants": {OURS: compared([pair(loops, number) for number in range(pairs)], BARE)}}


def main(effort: Effort) -> dict[str, Any]:
    return {name: measure(width, effort.steps(steps), effort.rounds(12)) for name, (width, steps) in SIZES.items()}


if __name__ == "__main__":
    run_part(main)
