import gc
import weakref

import numpy as np
import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset, TensorDataset

from feedwatch.hooks.torch.loader import WatchedLoader, in_memory, read_dataset, read_settings


def collate_images(items):
    return torch.stack(items)


class Files(Dataset):
    def __init__(self):
        self.labels = torch.zeros(100)

    def __len__(self):
        return 100


class Held(Files):
    def __init__(self):
        super().__init__()
        self.images = np.zeros((100, 3, 32, 32), np.uint8)


class Stream(IterableDataset):
    def __iter__(self):
        return iter(())


def test_settings_are_read_without_iterating():
    loader = DataLoader(
        TensorDataset(torch.zeros(8, 2)), batch_size=4, num_workers=2, collate_fn=collate_images, pin_memory=False
    )
    facts = read_settings(loader)
    assert (facts.num_workers, facts.prefetch_factor, facts.batch_size) == (2, 2, 4)
    assert (facts.custom_collate, facts.dataset_name, facts.dataset_len) == ("collate_images", "TensorDataset", 8)
    assert facts.start_method in ("fork", "forkserver", "spawn")
    assert loader._iterator is None


def test_a_default_collate_has_no_name_and_a_stream_no_length():
    facts = read_settings(DataLoader(Stream(), batch_size=None))
    assert (facts.custom_collate, facts.iterable, facts.dataset_len, facts.batch_size) == (None, True, None, None)


def test_tensors_in_memory_are_seen_through_subsets_and_concatenation():
    whole = TensorDataset(torch.zeros(100, 4), torch.zeros(100))
    assert read_dataset(Subset(whole, [0, 1])).held_bytes == 100 * 5 * 4
    assert read_dataset(ConcatDataset([whole, whole])).held_bytes == 2 * 100 * 5 * 4
    assert read_dataset(whole).static_items is True


def test_labels_alone_do_not_make_a_data_set_in_memory():
    image_bytes = 3 * 32 * 32 * 4.0
    assert in_memory(read_dataset(Files()), 100, image_bytes) is False
    assert in_memory(read_dataset(Held()), 100, image_bytes) is True
    assert in_memory(read_dataset(Held()), 100, None) is None


def test_a_watched_loader_is_given_back_as_it_was_and_not_kept_alive():
    loader = DataLoader(TensorDataset(torch.zeros(8, 2)), batch_size=4)
    before = loader.collate_fn
    watch = WatchedLoader(loader)
    watch.install()
    assert len(list(loader)) == 2
    assert watch.local.batches == 2
    watch.end()
    assert loader.collate_fn is before
    reference = weakref.ref(loader)
    del loader
    gc.collect()
    assert reference() is None
