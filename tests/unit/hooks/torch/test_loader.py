import gc
import sys
import weakref

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset, TensorDataset

from feedwatch.guard import Guard
from feedwatch.hooks.torch.loader import (
    TIMED_AT_FIRST,
    LocalCollateTap,
    TrainLoaders,
    WatchedLoader,
    in_memory,
    pipeline_facts,
    read_dataset,
    read_settings,
)
from feedwatch.hooks.torch.queue import SampledFetches
from tests.fakes.loops import FakeLoopWatch

# What other tests of a process leave in torch's iterators would be seen here.
pytestmark = pytest.mark.alone


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
    assert (facts.shuffle, facts.math_threads) == (False, torch.get_num_threads())
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


def test_workers_their_processes_and_the_data_sets_code_become_facts():
    loader = DataLoader(TensorDataset(torch.zeros(160, 2)), batch_size=2, num_workers=1, shuffle=True)
    watch, fetches = WatchedLoader(loader), SampledFetches(Guard("test"))
    watch.install()
    iterator = iter(loader)
    fetches.epoch_begin([iterator])
    for at, _ in enumerate(iterator):
        if at in (20, 60):
            facts = pipeline_facts([watch], fetches, None).loader
    watch.end()
    assert (facts.random_items, facts.shards_itself, facts.shuffle) == (False, None, True)
    assert facts.sampler_ms > 0.0
    if sys.platform == "linux":
        assert facts.worker_rss_mb > 1.0
        assert facts.worker_extra_cpu_ms >= 0.0


def test_without_workers_collate_is_timed_now_and_then_and_called_always():
    tap = LocalCollateTap(sum)
    assert [tap([number, 1]) for number in range(50)] == list(range(1, 51))
    assert TIMED_AT_FIRST < tap.batches < 25


def small(batch):
    return torch.utils.data.default_collate(batch[:1])


@pytest.mark.parametrize(
    ("options", "known"),
    [
        ({}, (2, 4)),
        ({"shuffle": True, "drop_last": True}, (2, 4)),
        ({"collate_fn": small}, (0, None)),
        ({"sampler": [0, 1, 2, 3, 4]}, (0, None)),
        ({"batch_sampler": [[0, 1], [2]], "batch_size": 1}, (0, None)),
        ({"batch_size": None}, (0, None)),
    ],
)
def test_only_batches_of_torchs_own_making_need_no_look(tmp_path, options, known):
    loader = DataLoader(TensorDataset(torch.arange(10)), **{"batch_size": 4, **options})
    loaders = TrainLoaders(FakeLoopWatch(tmp_path)._open()[0].session)
    loaders.see(loader)
    assert loaders.sure_samples(loader) == known
    assert loaders.sure_samples([loader]) == (0, None)
    loaders.end()
