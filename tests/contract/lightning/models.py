"""Small models and data sets that use every random generator, under either import name of Lightning."""

import random
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

FEATURES = 6


class NoisyItems(Dataset):
    """Every item draws from torch, numpy and Python: one draw too many anywhere changes the weights."""

    def __init__(self, items=32, fail_at=None, sleep_s=0.0):
        self.items, self.fail_at, self.sleep_s = items, fail_at, sleep_s

    def __len__(self):
        return self.items

    def __getitem__(self, index):
        if index == self.fail_at:
            raise ValueError(f"item {index} is broken")
        if self.sleep_s:
            time.sleep(self.sleep_s)
        noise = float(np.random.rand()) + random.random()  # noqa: NPY002 -- the global generators are the point
        return torch.rand(FEATURES) + noise, torch.tensor([float(index % 3)])


class NoisyStream(IterableDataset):
    def __init__(self, items=32):
        self.items = items

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        start, stride = (0, 1) if info is None else (info.id, info.num_workers)
        for index in range(start, self.items, stride):
            yield torch.rand(FEATURES), torch.tensor([float(index % 3)])


class WholeBatches(Dataset):
    """For `batch_size=None`: an item is a batch."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.rand(4, FEATURES), torch.full((4, 1), float(index % 3))


def custom_collate(items):
    return torch.utils.data.default_collate(items)


def loader(items=32, **settings):
    return DataLoader(NoisyItems(items), **{"batch_size": 4, **settings})


def model_class(pl):
    class Model(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(FEATURES, 1)
            self.drop = torch.nn.Dropout(0.2)
            self.trained = 0

        def loss(self, batch):
            inputs, targets = batch
            return torch.nn.functional.mse_loss(self.layer(self.drop(inputs)), targets)

        def training_step(self, batch, index):
            loss = self.loss(batch)
            self.log("loss", loss)
            return loss

        def validation_step(self, batch, index):
            self.log("val_loss", self.loss(batch))

        def on_train_batch_end(self, outputs, batch, index):
            self.trained += 1

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.05)

    return Model


def variant(pl, **methods):
    """The model with some methods replaced."""
    return type("Variant", (model_class(pl),), methods)()
