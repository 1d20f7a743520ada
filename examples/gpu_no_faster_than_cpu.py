"""Why is training no faster on my GPU than on my CPU?

Because the input pipeline is the limit: a faster device only waits longer. Here photos are decoded between the steps.
Runs on a CPU too; what a GPU would do to this run follows from the measured parts of the step.
"""

import os

import lightning.pytorch as pl
import torch
from rich.console import Console

from feedwatch.demo.photos import decode, make_photos, normalise
from feedwatch.lightning import FeedWatch
from feedwatch.report.console import print_report

STEPS = int(os.environ.get("FEEDWATCH_EXAMPLE_STEPS", "60"))
torch.set_num_threads(1)


class Photos(torch.utils.data.Dataset):
    def __init__(self):
        self.photos = make_photos(64)

    def __len__(self):
        return 16 * STEPS

    def __getitem__(self, index):
        photo = self.photos[index % 64]
        return torch.from_numpy(normalise(decode(photo.packed)).ravel()), photo.label


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(96 * 96 * 3, 10)

    def training_step(self, batch, _):
        return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)


def train(**loading):
    watch = FeedWatch("runs/examples", console=False)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = pl.Trainer(max_epochs=1, enable_model_summary=False, callbacks=[watch], **quiet)
    trainer.fit(Net(), torch.utils.data.DataLoader(Photos(), batch_size=16, **loading))
    print_report(watch.report, Console())
    return watch.report


if __name__ == "__main__":
    before = train()
    shares = {name: f"{100 * part.share:.0f} %" for name, part in before.phases.items() if part is not None}
    print(f"the step is: {shares}. A GPU can shorten the compute part only; all the rest stays.")
    after = train(num_workers=int(before.findings[0].evidence["workers_advised"]))
    print(f"before {before.verdict.samples_per_s:.0f} samples/s, after {after.verdict.samples_per_s:.0f} samples/s")
