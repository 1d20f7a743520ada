"""What the rules get to know about a real loader, inside a real fit."""

import time

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from feedwatch.lightning import FeedWatch
from tests.contract.lightning.models import variant

pytestmark = pytest.mark.alone


class Watch(FeedWatch):
    def _open(self, trainer):
        super()._open(trainer)
        self.session = self._run.session


def facts(pl, directory, loader, step=None, epochs=2):
    watch = Watch(directory, console=False)
    trainer = pl.Trainer(
        accelerator="cpu",
        max_epochs=epochs,
        callbacks=[watch],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    )
    methods = {} if step is None else {"training_step": step}
    trainer.fit(variant(pl, **methods), loader)
    return watch.session.facts, watch.report


def row():
    return torch.rand(6), torch.rand(1)


class Sleeping(Dataset):
    def __init__(self, slow_every=None):
        self.slow_every = slow_every

    def __len__(self):
        return 96

    def __getitem__(self, index):
        slow = self.slow_every is not None and index % self.slow_every == 0
        time.sleep(0.03 if slow else 0.001)
        return row()


class Computing(Sleeping):
    def __getitem__(self, index):
        until = time.thread_time() + 0.002
        while time.thread_time() < until:
            pass
        return row()


def slow_collate(items):
    time.sleep(0.012)
    return torch.utils.data.default_collate(items)


class Stream(IterableDataset):
    def __init__(self, split):
        self.split = split

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        first, stride = (info.id, info.num_workers) if self.split else (0, 1)
        for index in range(first, 64, stride):
            yield torch.arange(6.0) + index, torch.rand(1)


@pytest.fixture
def pl():
    import lightning.pytorch

    return lightning.pytorch


def test_blocked_items_are_told_from_computing_ones(pl, tmp_path):
    blocked, _ = facts(pl, tmp_path / "a", DataLoader(Sleeping(), batch_size=8, num_workers=2))
    computing, _ = facts(pl, tmp_path / "b", DataLoader(Computing(), batch_size=8, num_workers=2))
    sleeping, busy = blocked.pipeline.loader, computing.pipeline.loader

    assert sleeping.cpu_share < 0.5 < busy.cpu_share + busy.core_wait_share
    assert sleeping.blocked_share > busy.blocked_share
    assert sleeping.load_ms > 8.0
    assert len(sleeping.workers) == 2
    assert all(worker.batches > 0 for worker in sleeping.workers)
    assert blocked.pipeline.lanes == 2
    assert [stage.name for stage in blocked.pipeline.stages][:2] == ["items", "collate"]
    assert blocked.pipeline.stages[0].bottleneck


@pytest.mark.parametrize("workers", [0, 2])
def test_a_slow_collate_is_seen_apart_from_the_items(pl, tmp_path, workers):
    loader = DataLoader(Sleeping(), batch_size=4, num_workers=workers, collate_fn=slow_collate)
    found, _ = facts(pl, tmp_path, loader, epochs=1)
    seen = found.pipeline.loader
    assert seen.custom_collate == "slow_collate"
    assert 12.0 <= seen.collate_ms < seen.load_ms
    assert seen.item_ms >= 0.7


def test_straggling_items_stand_out(pl, tmp_path):
    loader = DataLoader(Sleeping(slow_every=12), batch_size=4, num_workers=2, persistent_workers=True)
    found, _ = facts(pl, tmp_path, loader, epochs=3)
    seen = found.pipeline.loader
    assert seen.item_p99_ms > 5 * seen.item_ms


@pytest.mark.parametrize("split", [True, False])
def test_workers_that_repeat_each_others_items_are_found(pl, tmp_path, split):
    found, _ = facts(pl, tmp_path, DataLoader(Stream(split), batch_size=4, num_workers=2), epochs=1)
    assert found.pipeline.loader.workers_repeat_items is not split


def test_tensors_in_memory_and_their_batch_are_known(pl, tmp_path):
    data = TensorDataset(torch.arange(512 * 6.0).remainder(256).view(512, 6), torch.rand(512, 1))
    found, report = facts(pl, tmp_path, DataLoader(data, batch_size=8))
    seen, batch = found.pipeline.loader, found.batch
    assert (seen.in_memory, seen.static_items, seen.dataset_bytes) == (True, True, 512 * 7 * 4)
    assert (seen.device_tensors, seen.batched_getitems) == (False, hasattr(data, "__getitems__"))
    assert (batch.size_bytes, batch.tensors, batch.dtypes) == (8 * 7 * 4, 2, {"float32": 8 * 7 * 4})
    assert (batch.integral_floats, batch.custom_transfer, batch.non_blocking) == (True, None, True)
    assert report.steps.samples == 1024


def test_starting_workers_every_epoch_shows_in_the_boundary(pl, tmp_path):
    _, restarting = facts(pl, tmp_path / "a", DataLoader(Sleeping(), batch_size=8, num_workers=2), epochs=3)
    kept = DataLoader(Sleeping(), batch_size=8, num_workers=2, persistent_workers=True)
    _, persistent = facts(pl, tmp_path / "b", kept, epochs=3)
    assert restarting.epoch_boundary.count == persistent.epoch_boundary.count == 2
    assert restarting.epoch_boundary.loader_start_ms > persistent.epoch_boundary.loader_start_ms


def test_without_workers_the_fetch_is_the_load(pl, tmp_path):
    found, report = facts(pl, tmp_path, DataLoader(Sleeping(), batch_size=8), epochs=6)
    seen = found.pipeline.loader
    assert seen.load_ms == pytest.approx(report.phases["input_wait"].ms, rel=0.5)
    assert seen.cpu_share < 0.6
    assert found.pipeline.lanes == 1
    assert "FW101" in [finding.code for finding in report.findings]
