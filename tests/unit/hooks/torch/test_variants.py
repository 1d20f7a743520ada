"""Awkward loaders, copied and edited; some are iterated with real workers."""

import sys
import types

import pytest

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset  # noqa: E402

from feedwatch.hooks.fetching import WatchedIterable  # noqa: E402
from feedwatch.hooks.torch.loader import LocalCollateTap  # noqa: E402
from feedwatch.hooks.torch.variants import (  # noqa: E402
    MATH_THREADS,
    WHOLE_BATCHES,
    WORKER_THREADS,
    CappedThreads,
    LoaderSource,
    changed,
    opened_once,
    whole_batches,
)
from feedwatch.trial.variant import Refused  # noqa: E402

TENSORS = TensorDataset(torch.arange(12.0).reshape(12, 1), torch.arange(12))


class Rows(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.tensor(float(index))


class OwnLoader(DataLoader):
    def __init__(self, *args, extra, **named):
        super().__init__(*args, **named)
        self.extra = extra


def test_a_copy_is_edited_and_the_users_own_stays():
    loader = DataLoader(Rows(), batch_size=4, shuffle=True, drop_last=True)
    twin = changed(loader, {"num_workers": 2, "prefetch_factor": 4, "pin_memory": True, "persistent_workers": True})
    assert (twin.num_workers, twin.prefetch_factor, twin.pin_memory, twin.persistent_workers) == (2, 4, True, True)
    assert twin.timeout > 0
    assert (loader.num_workers, loader.prefetch_factor, loader.timeout) == (0, None, 0)
    assert twin.sampler is loader.sampler


def test_without_workers_what_only_workers_have_is_gone():
    loader = DataLoader(Rows(), num_workers=2, persistent_workers=True, multiprocessing_context="spawn", timeout=9)
    twin = changed(loader, {"num_workers": 0})
    assert [batch.item() for batch in twin] == list(range(8))
    assert (twin.prefetch_factor, twin.persistent_workers, twin.timeout) == (None, False, 0)


def test_a_subclass_keeps_what_it_has():
    twin = changed(OwnLoader(Rows(), extra="theirs"), {"num_workers": 1})
    assert (type(twin), twin.extra, twin.num_workers) == (OwnLoader, "theirs", 1)


def test_what_we_measure_with_is_left_behind():
    loader = DataLoader(Rows())
    plain = loader.collate_fn
    loader.collate_fn = LocalCollateTap(plain)
    assert changed(loader, {}).collate_fn is plain


def test_wrappers_are_kept_around_the_edited_loader():
    loader = DataLoader(Rows(), batch_size=4)
    twin = changed(WatchedIterable(loader, iter), {"num_workers": 1})
    assert type(twin) is WatchedIterable
    assert twin.num_workers == 1
    assert sorted(value.item() for batch in twin for value in batch) == list(range(8))


def test_accelerates_loader_is_taken_apart_and_put_together():
    accelerate = pytest.importorskip("accelerate")
    prepared = accelerate.Accelerator(cpu=True).prepare(DataLoader(Rows(), batch_size=4))
    twin = changed(prepared, {"num_workers": 1})
    assert twin.num_workers == 1
    assert prepared.num_workers == 0
    assert len(list(twin)) == 2


def test_lightnings_combined_loader_changes_every_member():
    utilities = pytest.importorskip("lightning.pytorch.utilities")
    combined = utilities.CombinedLoader({"a": DataLoader(Rows()), "b": DataLoader(Rows())}, "min_size")
    twin = changed(combined, {"num_workers": 1})
    assert [part.num_workers for part in twin.flattened] == [1, 1]
    assert [part.num_workers for part in combined.flattened] == [0, 0]


def test_something_without_a_loader_is_refused():
    with pytest.raises(Refused, match="no DataLoader was found inside of list"):
        changed([1, 2], {"num_workers": 1})


def test_whole_batches_are_the_same_batches():
    loader = DataLoader(TENSORS, batch_size=5)
    twin = changed(loader, {WHOLE_BATCHES: True})
    for (x, y), (u, v) in zip(loader, twin, strict=True):
        assert torch.equal(x, u)
        assert torch.equal(y, v)
    part = whole_batches(Subset(TENSORS, [3, 5, 7]), loader.collate_fn)
    assert len(part) == 3
    assert part[1][1].item() == 5


def test_whole_batches_of_the_users_own_items_are_the_users_to_write():
    with pytest.raises(Refused, match="only you can write __getitems__ for Rows"):
        whole_batches(Rows(), torch.utils.data.default_collate)


def test_threads_are_the_variants_own_while_it_has_its_turn():
    before = torch.get_num_threads()
    source = LoaderSource(DataLoader(Rows()), threads=1)
    source.enter()
    assert torch.get_num_threads() == 1
    source.leave()
    assert torch.get_num_threads() == before


def test_workers_end_when_a_source_is_closed():
    source = LoaderSource(changed(DataLoader(Rows(), batch_size=2), {"num_workers": 1}))
    source.next()
    (worker,) = source._running._workers
    assert worker.is_alive()
    source.close()
    assert not worker.is_alive()


def test_capped_threads_run_the_users_own_initialiser(monkeypatch):
    seen = []
    monkeypatch.setitem(
        sys.modules, "cv2", types.SimpleNamespace(setNumThreads=lambda count: seen.append(("cv2", count)))
    )
    before = torch.get_num_threads()
    CappedThreads(seen.append)(3)
    torch.set_num_threads(before)
    assert seen == [("cv2", 0), 3]
    twin = changed(DataLoader(Rows(), num_workers=1), {WORKER_THREADS: 1, MATH_THREADS: 1})
    assert isinstance(twin.worker_init_fn, CappedThreads)


class Stream(IterableDataset):
    def __next__(self):
        return 1

    def __iter__(self):
        return self


def test_what_must_not_be_opened_twice_is_told_by_name(tmp_path):
    rows = Rows()
    assert opened_once(rows) is None
    rows.items = (number for number in range(3))
    assert opened_once(rows) == "Rows.items is a generator, which can be read only once"
    with (tmp_path / "file").open("w") as file:
        rows.items = file
        assert "Rows.items is an open _io.TextIOWrapper" in opened_once(rows)
    assert "its own iterator" in opened_once(Stream())
