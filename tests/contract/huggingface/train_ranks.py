"""One rank of a Trainer's run, started by torchrun: prints what it trained to, and leaves its report."""

import json
import os
import sys
import time
from pathlib import Path

import torch
import transformers

from feedwatch.huggingface import FeedWatch

SLOW_RANK = 1
RANK = int(os.environ["RANK"])


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 96

    def __getitem__(self, index):
        if RANK == SLOW_RANK:
            time.sleep(0.004)
        return {"x": torch.full((3,), index / 96), "labels": torch.tensor([index / 96])}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))

    def forward(self, x, labels):
        return {"loss": torch.nn.functional.mse_loss(self.body(x), labels)}


def train(directory, callbacks):
    transformers.set_seed(1)
    arguments = transformers.TrainingArguments(
        output_dir=str(directory / "out"), per_device_train_batch_size=4, num_train_epochs=2, learning_rate=1e-2,
        report_to=[], disable_tqdm=True, use_cpu=True, ddp_backend="gloo", save_strategy="no", logging_steps=3, seed=1,
    )  # fmt: skip
    trainer = transformers.Trainer(Model(), arguments, train_dataset=Rows(), callbacks=callbacks)
    trainer.train()
    weights = [parameter.tolist() for parameter in trainer.model.parameters()]
    return {"weights": weights, "draw": torch.rand(2).tolist()}, set(vars(trainer))


directory = Path(sys.argv[1])
bare, attributes = train(directory, [])
watched, with_ours = train(directory, [FeedWatch(directory / "runs", console=False)])
told = {"same": bare == watched, "left": sorted(with_ours - attributes), "weights": watched["weights"]}
(directory / f"rank{RANK}.json").write_text(json.dumps(told))
