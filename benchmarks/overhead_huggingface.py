"""What a callback adds to one step of Hugging Face's Trainer, measured as for Lightning: two Trainers in turns.

The clocks are read at the start of each `training_step`, by the Trainer's own subclass: the bare one has no callback.
"""

import logging
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ["OMP_NUM_THREADS"] = "1"  # in each of the two threads
warnings.filterwarnings("ignore")

import torch
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback

from benchmarks.contest import Contest
from benchmarks.part import Effort, run_part
from benchmarks.stopwatch import WARM_STEPS
from benchmarks.turns import Side
from feedwatch.huggingface import FeedWatch

BARE, OURS, EMPTY = "no callback", "feedwatch", "empty callback"


@dataclass(frozen=True, slots=True)
class Size:
    width: int
    layers: int
    batch: int
    steps: int
    steps_per_turn: int


class Rows(Dataset):
    def __init__(self, size: Size) -> None:
        self._rows = torch.randn(size.batch * (size.steps + WARM_STEPS), size.width)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"x": self._rows[index], "labels": torch.zeros(1)}


class Net(torch.nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        body = [torch.nn.Linear(size.width, size.width) for _ in range(size.layers)]
        self.layers = torch.nn.Sequential(*body, torch.nn.Linear(size.width, 1))

    def forward(self, x: torch.Tensor, labels: torch.Tensor | None = None) -> dict[str, torch.Tensor]:
        return {"loss": (self.layers(x) - labels).pow(2).mean()}


class Timed(Trainer):
    side: Side | None = None

    def training_step(self, *arguments: Any, **named: Any) -> Any:
        if self.side is not None:
            self.side.step()
        return super().training_step(*arguments, **named)


class Empty(TrainerCallback):
    pass


def ours(directory: str) -> FeedWatch:
    made = FeedWatch(directory, console=False)
    made._settings = replace(made._settings, window_seconds=2 * made._settings.window_seconds)
    return made


VARIANTS: dict[str, Callable[[str], list[Any]]] = {
    BARE: lambda _: [],
    EMPTY: lambda _: [Empty()],
    OURS: lambda directory: [ours(directory)],
}


class Player:
    def __init__(self, size: Size) -> None:
        self._size, self._net, self._rows = size, Net(size), Rows(size)

    def fit(self, name: str, side: Side | None, steps: int) -> Any:
        with tempfile.TemporaryDirectory() as directory:
            callbacks = VARIANTS[name](directory)
            arguments = TrainingArguments(
                output_dir=directory, per_device_train_batch_size=self._size.batch, max_steps=steps, report_to=[],
                disable_tqdm=True, use_cpu=True, save_strategy="no", logging_strategy="no", optim="sgd",
            )  # fmt: skip
            trainer = Timed(self._net, arguments, train_dataset=self._rows, callbacks=callbacks)
            trainer.remove_callback(PrinterCallback)
            trainer.side = side
            trainer.train()
            return callbacks[0].report if name == OURS else None


def measure(size: Size, pairs: Mapping[str, int]) -> dict[str, Any]:
    logging.getLogger("transformers").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    contest = Contest((Player(size), Player(size)), size.steps, size.steps_per_turn)
    variants = contest.measure(pairs, dict.fromkeys(VARIANTS, BARE))
    return {"per_call": 1, "steps": size.steps, "variants": variants, "says_of_itself": contest.says_of_itself()}


def main(effort: Effort) -> dict[str, Any]:
    tiny = Size(32, 1, 4, effort.steps(800), 40)
    return {"tiny": measure(tiny, dict.fromkeys((EMPTY, OURS), effort.rounds(12)))}


if __name__ == "__main__":
    run_part(main)
