"""FW304: a callback that takes 30 ms after every step, or after every Nth."""

import time

import lightning.pytorch as pl
from torch.utils.data import DataLoader

from tests.rules.executed.torch_parts import Items, train


class PlotPredictions(pl.Callback):
    def __init__(self, every=1):
        self.every = every

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if batch_idx % self.every == 0:
            time.sleep(0.030)


def bad():
    return train(DataLoader(Items(320, item_ms=0), batch_size=8), compute_ms=30, callbacks=[PlotPredictions()])


def good(finding):
    slower = PlotPredictions(int(finding.evidence["every_n_steps"]))
    return train(DataLoader(Items(320, item_ms=0), batch_size=8), compute_ms=30, callbacks=[slower])
