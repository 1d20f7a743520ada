"""Input and compute at the doors that are no Trainer of Lightning and no `fit`: what feedwatch says, next to the
workload's own clock.

Items sleep while they are made, steps sleep while they train, and both time themselves. Hugging Face's step has work of
the Trainer's own around the sleep, so only its input has a truth.
"""

import os
import tempfile
from collections.abc import Callable
from typing import Any

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from benchmarks.part import Effort, run_part
from benchmarks.reading import phases_of
from benchmarks.scenes import BATCH, Scene, mean, sleep

POINTS = tuple(Scene(input_ms, compute_ms) for input_ms in (2.0, 10.0, 30.0) for compute_ms in (5.0, 20.0))
Told = tuple[dict[str, float | None], Any]  # the truth, and feedwatch's report


class Rows(Dataset):
    """One item of a batch sleeps for all of them: a sleep is never shorter than asked for, but often longer."""

    def __init__(self, scene: Scene, steps: int) -> None:
        self.scene, self.steps, self.took_ms = scene, steps, []

    def __len__(self) -> int:
        return BATCH * self.steps

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        if index % BATCH == 0:
            self.took_ms.append(sleep(self.scene.input_ms))
        return {"x": torch.zeros(3), "labels": torch.zeros(1)}


def torch_loop(scene: Scene, steps: int, directory: str) -> Told:
    from feedwatch.torch import FeedWatch

    rows, computed = Rows(scene, steps), []
    with FeedWatch(directory, console=False) as watch:
        for _ in watch(DataLoader(rows, batch_size=BATCH)):
            computed += [sleep(scene.compute_ms)]
    return {"input": mean(rows.took_ms), "compute": mean(computed)}, watch.report


def keras_loop(scene: Scene, steps: int, directory: str) -> Told:
    import tensorflow as tf

    from feedwatch.keras import watch

    took, computed = [], []

    def make() -> Any:
        for _ in range(steps):
            took.append(sleep(scene.input_ms))
            yield np.zeros((BATCH, 3), np.float32)

    data = tf.data.Dataset.from_generator(make, output_signature=tf.TensorSpec([BATCH, 3], tf.float32))
    # tf.data puts a prefetch behind it by itself: the generator would sleep while the loop computes, and its own clock
    # would not tell what the loop waited.
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    data = data.with_options(options)
    with watch(data, directory, console=False) as batches:
        for _ in batches:
            computed += [sleep(scene.compute_ms)]
    return {"input": mean(took), "compute": mean(computed)}, batches.report


class Sleeper(torch.nn.Module):
    def __init__(self, ms: float) -> None:
        super().__init__()
        self.ms, self.layer = ms, torch.nn.Linear(3, 1)

    def forward(self, x: torch.Tensor, labels: torch.Tensor | None = None) -> dict[str, torch.Tensor]:
        sleep(self.ms)
        return {"loss": (self.layer(x) - labels).pow(2).mean()}


def huggingface(scene: Scene, steps: int, directory: str) -> Told:
    from transformers import Trainer, TrainingArguments

    from feedwatch.huggingface import FeedWatch

    rows, watch = Rows(scene, steps), FeedWatch(directory, console=False)
    arguments = TrainingArguments(
        output_dir=directory, per_device_train_batch_size=BATCH, num_train_epochs=1, report_to=[], disable_tqdm=True,
        use_cpu=True, save_strategy="no", logging_strategy="no",
    )  # fmt: skip
    trainer = Trainer(Sleeper(scene.compute_ms), arguments, train_dataset=rows, callbacks=[watch])
    # In order, so that one item of every batch sleeps.
    trainer._get_train_sampler = lambda *_: torch.utils.data.SequentialSampler(rows)
    trainer.train()
    return {"input": mean(rows.took_ms), "compute": None}, watch.report


DOORS: dict[str, Callable[[Scene, int, str], Told]] = {
    "torch loop": torch_loop,
    "Keras loop": keras_loop,
    "Hugging Face": huggingface,
}


def observe(door: str, scene: Scene, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        truth, report = DOORS[door](scene, scene.steps(seconds), directory)
    return {
        "scene": f"{door}, {scene.name}",
        "truth": {**truth, "copy": None},
        "said": {"feedwatch": phases_of(report)},
    }


def main(effort: Effort) -> dict[str, Any]:
    seconds = 0.4 if effort.quick else 1.5
    return {"scenes": [observe(door, scene, seconds) for door in DOORS for scene in POINTS]}


if __name__ == "__main__":
    run_part(main)
