import copy
import pickle

import pytest

from feedwatch.hooks.torch.workers import (
    BATCHES,
    COLLATE_NS,
    CORE_WAIT_NS,
    CPU_NS,
    FINGERPRINT,
    HAS_CORE_WAIT,
    IDLE_NS,
    ITEMS_NS,
    RING,
    RING_CELLS,
    RING_FIRST,
    WRITTEN,
    WorkerTable,
    fold_workers,
    item_bucket,
    item_quantile_ms,
)
from feedwatch.model.pipeline import Made


def test_a_file_is_unlinked_on_request_and_when_the_table_is_forgotten():
    first, second = WorkerTable(1, inherited=False), WorkerTable(1, inherited=False)
    paths = [first.path, second.path]
    assert all(path.exists() for path in paths)
    first.unlink()
    del second
    assert not any(path.exists() for path in paths)
    first.unlink()


def test_a_forked_worker_needs_no_file():
    assert WorkerTable(2, inherited=True).path is None


def test_what_a_spawned_worker_writes_the_main_process_reads():
    table = WorkerTable(2, inherited=False)
    theirs = pickle.loads(pickle.dumps(table))
    theirs.slot(1)[BATCHES] = 7
    assert [row[BATCHES] for row in table.rows()] == [0, 7]
    table.unlink()


def test_a_copy_of_an_inherited_table_is_detached_and_harmless():
    lost = copy.deepcopy(WorkerTable(2, inherited=True))
    assert lost.slot(0) is None
    assert lost.rows() == []


def make(slot, begin_ns, end_ns, turn):
    at = RING_FIRST + slot[WRITTEN] % RING * RING_CELLS
    slot[at], slot[at + 1], slot[at + 2] = begin_ns, end_ns, turn
    slot[WRITTEN] += 1


def test_the_last_batches_come_back_with_their_numbers_in_the_epoch():
    table = WorkerTable(3, inherited=True)
    make(table.slot(1), 100, 150, 0)
    make(table.slot(1), 160, 190, 1)
    assert table.made(in_turn=True) == [Made(1, 100, 150, 2), Made(1, 160, 190, 5)]
    assert [each.batch for each in table.made(in_turn=False)] == [0, 0]


def test_the_ring_forgets_the_oldest_and_what_may_be_half_written():
    table = WorkerTable(1, inherited=True)
    for turn in range(3 * RING):
        make(table.slot(0), turn * 10, turn * 10 + 9, turn)
    made = table.made(in_turn=True)
    assert len(made) == RING - 1
    assert made[-1] == Made(0, (3 * RING - 1) * 10, (3 * RING - 1) * 10 + 9, 3 * RING)


@pytest.mark.parametrize("item_us", [1, 3, 10, 150, 4_000, 250_000, 60_000_000])
def test_an_items_time_comes_back_within_its_bucket(item_us):
    table = WorkerTable(1, inherited=True)
    table.slot(0)[item_bucket(item_us * 1000)] += 5
    assert item_quantile_ms(table.rows(), 0.5) == pytest.approx(item_us / 1000, rel=0.34)


def test_busy_time_is_divided_into_cpu_core_wait_and_blocked():
    table = WorkerTable(2, inherited=True)
    for worker in range(2):
        slot = table.slot(worker)
        slot[BATCHES], slot[ITEMS_NS], slot[COLLATE_NS], slot[IDLE_NS] = 10, 80_000_000, 20_000_000, 100_000_000
        slot[CPU_NS], slot[CORE_WAIT_NS], slot[HAS_CORE_WAIT] = 60_000_000, 15_000_000, 1
    fold = fold_workers(table.rows())

    assert fold.load_ms == 10.0
    assert fold.collate_ms == 2.0
    assert (fold.cpu_share, fold.core_wait_share) == (0.6, 0.15)
    assert fold.blocked_share == pytest.approx(0.25)
    assert fold.workers[0].idle_share == 0.5
    assert fold.workers[0].fetch_ms == 8.0


def test_without_the_kernels_figure_the_rest_is_unknown_not_zero():
    table = WorkerTable(1, inherited=True)
    slot = table.slot(0)
    slot[BATCHES], slot[ITEMS_NS], slot[CPU_NS] = 1, 10, 5
    fold = fold_workers(table.rows())
    assert (fold.cpu_share, fold.core_wait_share, fold.blocked_share) == (0.5, None, None)


def test_workers_that_have_not_worked_say_nothing():
    fold = fold_workers(WorkerTable(2, inherited=True).rows())
    assert (fold.load_ms, fold.cpu_share, fold.item_ms, fold.repeat_items) == (None, None, None, None)
    assert [worker.fetch_ms for worker in fold.workers] == [None, None]


@pytest.mark.parametrize(("prints", "repeat"), [((5, 5), True), ((5, 6), False), ((5, 0), None), ((-1, -1), None)])
def test_equal_batches_in_different_workers_are_repeated_items(prints, repeat):
    table = WorkerTable(2, inherited=True)
    for worker, fingerprint in enumerate(prints):
        table.slot(worker)[FINGERPRINT] = fingerprint
    assert fold_workers(table.rows()).repeat_items is repeat
