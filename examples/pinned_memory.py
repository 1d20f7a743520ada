"""Do pin_memory and non_blocking make copies to the GPU faster?

From pageable memory a copy is staged through a buffer of the driver and the host waits for it; from pinned memory it
runs beside the computing. Lightning's own transfer is non-blocking already; one that you wrote yourself has to say
`non_blocking=True` (FW202). Whether pinning helps depends on the run: between twice as fast and slower, so measure
it. On a CPU there is no copy: the script says what it could not show, and feedwatch advises nothing of the kind.
"""

import os

import lightning.pytorch as pl
import torch
from rich.console import Console
from torch.utils.data import DataLoader

from feedwatch.lightning import FeedWatch
from feedwatch.report.console import print_report

STEPS = int(os.environ.get("FEEDWATCH_EXAMPLE_STEPS", "60"))
torch.set_num_threads(1)


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 64 * STEPS

    def __getitems__(self, indices):
        # Whole batches, so that the copy and not the stacking is what costs.
        return torch.ones(len(indices), 3, 128, 128), torch.zeros(len(indices), dtype=torch.long)


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 5, 4), torch.nn.Flatten(), torch.nn.LazyLinear(10))
        self.layers(torch.zeros(1, 3, 128, 128))

    def training_step(self, batch, _):
        return torch.nn.functional.cross_entropy(self.layers(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)


def train(*, pin_memory):
    watch = FeedWatch("runs/examples", console=False)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    loader = DataLoader(Images(), batch_size=64, pin_memory=pin_memory, num_workers=1, collate_fn=lambda batch: batch)
    pl.Trainer(max_epochs=1, enable_model_summary=False, callbacks=[watch], **quiet).fit(Net(), loader)
    print_report(watch.report, Console())
    return watch.report


if __name__ == "__main__":
    before, after = train(pin_memory=False), train(pin_memory=torch.cuda.is_available())
    print(f"before {before.verdict.samples_per_s:.0f} samples/s, after {after.verdict.samples_per_s:.0f} samples/s")
    if not torch.cuda.is_available():
        print("not shown on a CPU: FW201 (pageable copies) and FW202 (blocking copies): `feedwatch explain FW201`")
