"""I put my data on the GPU beforehand, and training became slower: why?

A DataLoader takes single items. On the device every item is a slice of its own, launched from Python, and 64 of them
are stacked again for each batch: FW112, or FW106 where there is no GPU (the same work, without the launches). Workers
cannot help either: device tensors do not come out of them. Index whole batches there, or keep host tensors and copy
once per batch.
"""

import os

import lightning.pytorch as pl
import torch
from rich.console import Console
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

from feedwatch.lightning import FeedWatch
from feedwatch.report.console import print_report

STEPS = int(os.environ.get("FEEDWATCH_EXAMPLE_STEPS", "100"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
torch.set_num_threads(1)


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(256, 10)

    def training_step(self, batch, _):
        return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)


def train(loader):
    watch = FeedWatch("runs/examples", console=False)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    pl.Trainer(max_epochs=2, enable_model_summary=False, callbacks=[watch], **quiet).fit(Net(), loader)
    print_report(watch.report, Console())
    return watch.report


if __name__ == "__main__":
    rows = 256 * STEPS
    data = TensorDataset(torch.randn(rows, 256, device=DEVICE), torch.randint(0, 10, (rows,), device=DEVICE))
    before = train(DataLoader(data, batch_size=256, shuffle=True))
    whole_batches = BatchSampler(RandomSampler(data), 256, drop_last=False)
    after = train(DataLoader(data, sampler=whole_batches, batch_size=None))
    print(f"before {before.verdict.samples_per_s:.0f} samples/s, after {after.verdict.samples_per_s:.0f} samples/s")
    if DEVICE == "cpu":
        print("not shown on a CPU: FW112, a launch per item, and FW208, a full device (`feedwatch explain FW112`)")
