"""What `watch(loader)` adds to one batch of a plain PyTorch loop.

Two loops take turns in one process, some 50 ms each (see turns.py): once with the same loader bare and once watched. In
every pair both loops play both parts.
"""

import os
import tempfile
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
# One thread in each of the two loops: with two busy cores a pool of spinning threads would be most of the noise. Set
# here, because torch's own setting holds for the thread that sets it only.
os.environ["OMP_NUM_THREADS"] = "1"

import torch
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.paired import compared, spread
from benchmarks.part import Effort, run_part
from benchmarks.stopwatch import WARM_STEPS, figures, mean_figures
from benchmarks.turns import Side, take_turns
from feedwatch.model.report import Report
from feedwatch.torch import FeedWatch

BARE, OURS = "no watch", "feedwatch"
BATCH = 8


@dataclass(frozen=True, slots=True)
class Size:
    width: int
    layers: int
    steps: int
    steps_per_turn: int  # about 50 ms: longer than feedwatch's own thread works at once, shorter than a machine's drift


SIZES = {"tiny": Size(64, 1, 4000, 150), "2 ms": Size(256, 6, 700, 25)}
PAIRS = 16


class Loop:
    def __init__(self, size: Size) -> None:
        torch.manual_seed(0)
        rows, width = BATCH * (size.steps + WARM_STEPS), size.width
        body = [part for _ in range(size.layers) for part in (torch.nn.Linear(width, width), torch.nn.ReLU())]
        self._model = torch.nn.Sequential(*body, torch.nn.Linear(width, 1))
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=0.001)
        self._loader = DataLoader(TensorDataset(torch.randn(rows, width), torch.randn(rows, 1)), batch_size=BATCH)

    def run(self, name: str, said: list[Report], side: Side) -> None:
        with tempfile.TemporaryDirectory() as directory:
            if name == BARE:
                self._train(self._loader, side)
                return
            with FeedWatch(directory, console=False) as watch:
                # Half of the time it stands still: a second of its own is two.
                watch._settings = replace(watch._settings, window_seconds=2 * watch._settings.window_seconds)
                self._train(watch(self._loader), side)
            said.append(watch.report)

    def _train(self, batches: Any, side: Side) -> None:
        for inputs, targets in batches:
            side.step()
            self._optimizer.zero_grad()
            torch.nn.functional.mse_loss(self._model(inputs), targets).backward()
            self._optimizer.step()


def pair(
    loops: tuple[Loop, Loop], number: int, size: Size, said: list[Report]
) -> tuple[dict[str, float], dict[str, float]]:
    parts = (OURS, BARE) if number % 2 else (BARE, OURS)
    rows: dict[str, list[dict[str, float]]] = {BARE: [], OURS: []}
    for players in (loops, loops[::-1]):
        runs = (partial(loop.run, part, said) for loop, part in zip(players, parts, strict=True))
        for part, side in zip(parts, take_turns(*runs, size.steps_per_turn), strict=True):
            rows[part].append(figures(side.turns, side.seconds))
    return mean_figures(rows[OURS]), mean_figures(rows[BARE])


def measure(size: Size, pairs: int) -> dict[str, Any]:
    loops, said = (Loop(size), Loop(size)), []
    pair(loops, 0, size, [])  # everything is imported and warm
    variants = {OURS: compared([pair(loops, number, size, said) for number in range(pairs)], BARE)}
    own = spread([report.self_cost.us_per_step for report in said])
    return {"per_call": 1, "steps": size.steps, "variants": variants, "says_of_itself_us": own.as_dict()}


def main(effort: Effort) -> dict[str, Any]:
    return {
        name: measure(replace(size, steps=effort.steps(size.steps)), effort.rounds(PAIRS))
        for name, size in SIZES.items()
    }


if __name__ == "__main__":
    run_part(main)
