"""FW107: a collate function that loops over values, or stacks whole tensors."""

import torch
from torch.utils.data import DataLoader

from tests.rules.executed.torch_parts import Items, train


def value_by_value(items):
    rows = [[float(value) for value in inputs] for inputs, _ in items]
    return torch.tensor(rows), torch.tensor([float(target) for _, target in items])


def stacked(items):
    columns = zip(*items, strict=True)
    return [torch.stack([torch.as_tensor(value) for value in column]) for column in columns]


def bad():
    return train(DataLoader(Items(256 * 40, item_ms=0), batch_size=256, collate_fn=value_by_value), compute_ms=10)


def good(_finding):
    return train(DataLoader(Items(256 * 40, item_ms=0), batch_size=256, collate_fn=stacked), compute_ms=10)
