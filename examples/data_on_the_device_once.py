"""My data never change and fit on the GPU: why copy them again in every epoch?

Through a DataLoader the same rows are sliced, stacked and copied in each epoch. Placed on the device once, a batch is
one indexing there. On a CPU the copy costs nothing and feedwatch says FW106 (items taken apart and stacked again); on
a GPU it also sees the copies, and says FW207 with their time and the device memory they would take.
"""

import os

import lightning.pytorch as pl
import torch
from rich.console import Console
from torch.utils.data import DataLoader, TensorDataset

from feedwatch.lightning import FeedWatch
from feedwatch.report.console import print_report

STEPS = int(os.environ.get("FEEDWATCH_EXAMPLE_STEPS", "100"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FEATURES, LABELS = torch.randn(256 * STEPS, 256), torch.randint(0, 10, (256 * STEPS,))
torch.set_num_threads(1)


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(256, 10)

    def training_step(self, batch, _):
        return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)


class OnDevice:
    def __init__(self):
        self.features, self.labels = FEATURES.to(DEVICE), LABELS.to(DEVICE)

    def __iter__(self):
        for rows in torch.randperm(len(self.features), device=DEVICE).split(256):
            yield self.features[rows], self.labels[rows]


def train(loader):
    watch = FeedWatch("runs/examples", console=False)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    pl.Trainer(max_epochs=2, enable_model_summary=False, callbacks=[watch], **quiet).fit(Net(), loader)
    print_report(watch.report, Console())
    return watch.report


if __name__ == "__main__":
    before = train(DataLoader(TensorDataset(FEATURES, LABELS), batch_size=256, shuffle=True))
    after = train(OnDevice())
    print(f"before {before.verdict.samples_per_s:.0f} samples/s, after {after.verdict.samples_per_s:.0f} samples/s")
    if DEVICE == "cpu":
        print("not shown on a CPU: FW207, the copies of every epoch (`feedwatch explain FW207`)")
