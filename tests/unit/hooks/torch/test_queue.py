import time
import weakref

import pytest
import torch
from torch.utils.data import DataLoader, Sampler, TensorDataset

from feedwatch.guard import Guard
from feedwatch.hooks.torch.queue import TIMED_DRAWS, IndexDraws, QueueGauge, SampledFetches


class FakeIterator:
    def __init__(self, arrived, queued, head=0):
        self._task_info = {index: (0, "data") if index in arrived else (0,) for index in range(4)}
        self._rcvd_idx = head
        self._data_queue = type("Queue", (), {"qsize": lambda _: queued})()


def test_the_gauge_tells_ready_from_empty_and_from_a_later_batch():
    gauge = QueueGauge()
    for iterator, wait_ns in [
        (FakeIterator({0}, 0), 1_000_000),
        (FakeIterator(set(), 2), 3_000_000),
        (FakeIterator(set(), 0), 20_000_000),
        (FakeIterator({1, 2}, 1), 20_000_000),
    ]:
        gauge.look_at([iterator])
        gauge.before_fetch()
        gauge.after_fetch(wait_ns)
    assert gauge.ready_share == 0.5
    assert gauge.delivery_ms == pytest.approx(1.0, rel=0.02)


def test_an_iterator_of_another_torch_is_not_gauged():
    gauge = QueueGauge()
    gauge.look_at([object()])
    gauge.before_fetch()
    gauge.after_fetch(1)
    assert (gauge.ready_share, gauge.delivery_ms) == (None, None)


def test_the_gauge_keeps_no_iterator_alive():
    gauge, iterator = QueueGauge(), FakeIterator({0}, 0)
    gauge.look_at([iterator])
    reference = weakref.ref(iterator)
    del iterator
    assert reference() is None


def test_the_first_fetch_is_not_timed_and_the_rest_is_split_into_computing_and_waiting():
    fetches = SampledFetches(Guard("test"))
    for wait_ns in (1_000_000_000, 30_000_000, 50_000_000):
        fetches.before_fetch()
        fetches.after_fetch(wait_ns)
    assert fetches.fetch_ms == 40.0
    assert fetches.cpu_share == pytest.approx(0.0, abs=0.05)  # this thread hardly computed in between


def test_without_fetches_nothing_is_known():
    fetches = SampledFetches(Guard("test"))
    assert (fetches.fetch_ms, fetches.cpu_share) == (None, None)


class SlowSampler(Sampler):
    def __iter__(self):
        for index in range(12):
            time.sleep(0.002)
            yield index

    def __len__(self):
        return 12


@pytest.mark.parametrize("options", [{}, {"num_workers": 1, "persistent_workers": True, "prefetch_factor": 1}])
def test_drawing_indices_is_timed_and_changes_no_order(options):
    loader = DataLoader(TensorDataset(torch.arange(12)), batch_size=2, sampler=SlowSampler(), **options)
    fetches = SampledFetches(Guard("test"))
    assert fetches.draws.mean_ms is None
    for _ in range(2):
        iterator = iter(loader)
        fetches.epoch_begin([iterator])
        fetches.epoch_begin([iterator])  # a second time is no second clock
        assert [int(batch[0][0]) for batch in iterator] == [0, 2, 4, 6, 8, 10]
    assert fetches.draws.mean_ms >= 4.0
    assert 8 <= fetches.draws.batches <= 12


def test_an_iterator_of_another_class_keeps_its_sampler():
    draws, other = IndexDraws(), type("Iterator", (), {"_sampler_iter": (each for each in "ab")})()
    before = other._sampler_iter
    draws.watch([other, object()])
    assert other._sampler_iter is before


def test_the_sampler_is_given_back_when_enough_is_known():
    loader = DataLoader(TensorDataset(torch.arange(100)), shuffle=True)
    fetches, iterator = SampledFetches(Guard("test")), iter(loader)
    before = iterator._sampler_iter
    fetches.epoch_begin([iterator])
    batches = [int(next(iterator)[0]) for _ in range(TIMED_DRAWS)]
    assert iterator._sampler_iter is not before
    batches += [int(batch[0]) for batch in iterator]
    assert iterator._sampler_iter is before
    assert sorted(batches) == list(range(100))
    assert fetches.draws.batches == TIMED_DRAWS
