"""Settings, data sets, batches and queues as plain facts."""

import gc
import weakref

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset, TensorDataset

from feedwatch.hooks.torch.batch_facts import peek
from feedwatch.hooks.torch.batch_size import samples_in
from feedwatch.hooks.torch.dataset_facts import in_memory, read_dataset
from feedwatch.hooks.torch.loader_settings import read_settings
from feedwatch.hooks.torch.loader_watch import LoaderWatch
from feedwatch.hooks.torch.queue_gauge import STALL_NS, QueueGauge
from feedwatch.hooks.torch.transfer_facts import custom_transfer
from feedwatch.hooks.torch.worker_tap import fingerprint


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


def test_a_batch_is_weighed_by_dtype():
    facts = peek({"x": torch.zeros(4, 8), "y": [torch.zeros(4, dtype=torch.int64)]}, "cpu").judged()
    assert (facts.size_bytes, facts.tensors, facts.device) == (160, 2, "cpu")
    assert facts.dtypes == {"float32": 128, "int64": 32}
    assert facts.pinned is None


@pytest.mark.parametrize(
    ("values", "whole"),
    [
        (torch.arange(256.0), True),
        (torch.arange(256.0) / 255, True),
        (torch.linspace(0, 255, 300), False),
        (torch.randn(64), False),
        (torch.zeros(64), False),
        (torch.arange(300.0), False),
        (torch.arange(256), None),
    ],
)
def test_floats_that_are_bytes_in_disguise_are_told_from_real_ones(values, whole):
    assert peek(values, "cpu").judged().integral_floats is whole


def test_a_batch_without_tensors_is_unknown():
    assert peek(["text"], "cpu") is None


@pytest.mark.parametrize(
    ("batch", "configured", "samples"),
    [
        (torch.zeros(3, 2), 4, 3),
        ([torch.zeros(4, 2), torch.zeros(4)], 4, 4),
        ({"a": {"b": torch.zeros(2, 9)}}, None, 2),
        (torch.zeros(50, 4), 4, 4),
        ("text", 4, 4),
        (None, None, None),
    ],
)
def test_samples_are_the_first_dimension_but_never_more_than_configured(batch, configured, samples):
    assert samples_in(batch, configured) == samples


def test_a_watched_loader_is_given_back_as_it_was_and_not_kept_alive():
    loader = DataLoader(TensorDataset(torch.zeros(8, 2)), batch_size=4)
    before = loader.collate_fn
    watch = LoaderWatch(loader)
    watch.install()
    assert len(list(loader)) == 2
    assert watch.local.batches == 2
    watch.end()
    assert loader.collate_fn is before
    reference = weakref.ref(loader)
    del loader
    gc.collect()
    assert reference() is None


class FakeIterator:
    def __init__(self, arrived, queued, head=0):
        self._task_info = {index: (0, "data") if index in arrived else (0,) for index in range(4)}
        self._rcvd_idx = head
        self._data_queue = type("Queue", (), {"qsize": lambda _: queued})()


def test_the_gauge_tells_ready_from_empty_from_blocked():
    gauge = QueueGauge()
    for iterator, wait_ns in [
        (FakeIterator({0}, 0), 1_000_000),
        (FakeIterator(set(), 2), 3_000_000),
        (FakeIterator(set(), 0), 2 * STALL_NS),
        (FakeIterator({1, 2}, 1), 2 * STALL_NS),
    ]:
        gauge.look_at([iterator])
        gauge.before_fetch()
        gauge.after_fetch(wait_ns)
    assert gauge.ready_share == 0.5
    assert gauge.head_blocked_share == 0.5
    assert gauge.delivery_ms == pytest.approx(1.0, rel=0.02)


def test_an_iterator_of_another_torch_is_not_gauged():
    gauge = QueueGauge()
    gauge.look_at([object()])
    gauge.before_fetch()
    gauge.after_fetch(1)
    assert (gauge.ready_share, gauge.delivery_ms, gauge.head_blocked_share) == (None, None, None)


def test_the_gauge_keeps_no_iterator_alive():
    gauge, iterator = QueueGauge(), FakeIterator({0}, 0)
    gauge.look_at([iterator])
    reference = weakref.ref(iterator)
    del iterator
    assert reference() is None


class Plain:
    pass


class Blocking:
    def transfer_batch_to_device(self, batch, device, dataloader_idx):
        return batch.to(device)


class Flowing:
    def transfer_batch_to_device(self, batch, device, dataloader_idx):
        return batch.to(device, non_blocking=True)


def test_an_overridden_transfer_is_named_and_read():
    assert custom_transfer([None, Plain()]) == (None, True)
    assert custom_transfer([None, Blocking()]) == ("Blocking.transfer_batch_to_device", False)
    assert custom_transfer([Flowing(), Blocking()]) == ("Flowing.transfer_batch_to_device", True)


def test_a_fingerprint_knows_a_batch_again_and_nothing_from_a_constant_one():
    batch = [torch.arange(32.0), torch.zeros(2)]
    assert fingerprint(batch) == fingerprint([torch.arange(32.0)]) > 0
    assert fingerprint(batch) != fingerprint([torch.arange(1.0, 33.0)])
    assert fingerprint(torch.zeros(32)) == fingerprint("text") == -1
