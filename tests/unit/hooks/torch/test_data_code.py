"""Real loaders; no item is read."""

import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    SequentialSampler,
    Subset,
    TensorDataset,
)
from torch.utils.data.distributed import DistributedSampler

from feedwatch.hooks.torch.data_code import read_code, shuffles

TENSORS = TensorDataset(torch.zeros(8, 2))


class Images(Dataset):
    def __init__(self, transform=None):
        self.transform = transform

    def __len__(self):
        return 8

    def __getitem__(self, index):
        item = torch.full((2,), index)
        return item if self.transform is None else self.transform(item)


class RandomFlip:
    def __call__(self, item):
        return item


class Noise(torch.nn.Module):
    def forward(self, item):
        return item + torch.randn_like(item)


class Whole(IterableDataset):
    def __iter__(self):
        yield from range(8)


class Split(IterableDataset):
    def __iter__(self):
        yield from range(8)[self._first() :: 2]

    def _first(self):
        return torch.utils.data.get_worker_info().id


class Batches(BatchSampler):
    pass


def random_items(dataset):
    return read_code(dataset, "DataLoader").random_items


def test_random_items_are_seen_in_the_code_and_in_its_transforms():
    assert random_items(Images()) is False
    assert random_items(TENSORS) is False
    assert random_items(Images(torch.nn.Identity())) is False
    assert random_items(Images(RandomFlip())) is True
    assert random_items(Images(Noise())) is True
    assert random_items(Subset(Images(Noise()), [0, 1])) is True
    assert random_items([1, 2]) is None


def test_a_stream_that_asks_for_its_worker_shards_itself():
    assert read_code(Split(), "DataLoader").shards_itself is True
    assert read_code(Whole(), "DataLoader").shards_itself is False
    assert read_code(Images(), "DataLoader").shards_itself is None


class OneLoader(DataLoader):
    pass


def test_the_line_is_named_where_only_one_call_makes_the_loader():
    loader = OneLoader(Images())
    line = test_the_line_is_named_where_only_one_call_makes_the_loader.__code__.co_firstlineno + 1
    assert read_code(loader.dataset, "OneLoader").call_site == f"test_data_code.py:{line}"
    assert read_code(loader.dataset, "DataLoader").call_site is None  # several below


def test_shuffling_is_told_by_the_sampler():
    assert shuffles(DataLoader(TENSORS, shuffle=True)) is True
    assert shuffles(DataLoader(TENSORS)) is False
    assert shuffles(DataLoader(TENSORS, batch_size=None)) is False
    for asked in (True, False):
        sampler = DistributedSampler(TENSORS, num_replicas=2, rank=0, shuffle=asked)
        assert shuffles(DataLoader(TENSORS, sampler=sampler)) is asked
    assert shuffles(DataLoader(TENSORS, batch_sampler=Batches(SequentialSampler(TENSORS), 2, drop_last=False))) is None
    assert shuffles(DataLoader(Whole())) is None
