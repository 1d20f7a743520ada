"""FW106: rows of a tensor in memory, one by one, or a whole batch at once."""

import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

from tests.rules.executed.torch_parts import WIDTH, train

BATCH = 4096


def rows():
    return TensorDataset(torch.zeros(50 * BATCH, WIDTH), torch.zeros(50 * BATCH))


def bad():
    return train(DataLoader(rows(), batch_size=BATCH, shuffle=True), compute_ms=10)


def good(_finding):
    dataset = rows()
    sampler = BatchSampler(RandomSampler(dataset), batch_size=BATCH, drop_last=False)
    return train(DataLoader(dataset, sampler=sampler, batch_size=None), compute_ms=10)
