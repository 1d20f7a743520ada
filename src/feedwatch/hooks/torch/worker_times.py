"""The workers' table as figures."""

from dataclasses import dataclass

from feedwatch.hooks.torch.worker_table import (
    BATCHES,
    COLLATE_NS,
    CORE_WAIT_NS,
    CPU_NS,
    FINGERPRINT,
    HAS_CORE_WAIT,
    IDLE_NS,
    ITEMS_NS,
    item_quantile_ms,
)
from feedwatch.model.pipeline import WorkerTime

Row = list[int]


@dataclass(frozen=True, slots=True)
class WorkersFold:
    """All workers together, per batch on one worker."""

    load_ms: float | None
    collate_ms: float | None
    item_ms: float | None
    item_p99_ms: float | None
    cpu_share: float | None
    core_wait_share: float | None
    blocked_share: float | None
    repeat_items: bool | None
    workers: tuple[WorkerTime, ...]


def fold_workers(rows: list[Row]) -> WorkersFold:
    batches = sum(row[BATCHES] for row in rows)
    total = [sum(column) for column in zip(*rows, strict=True)] if rows else []
    cpu, core_wait, blocked = _shares(total, len(rows)) if batches else (None, None, None)
    return WorkersFold(
        load_ms=(total[ITEMS_NS] + total[COLLATE_NS]) / batches / 1e6 if batches else None,
        collate_ms=total[COLLATE_NS] / batches / 1e6 if batches else None,
        item_ms=item_quantile_ms(rows, 0.5),
        item_p99_ms=item_quantile_ms(rows, 0.99),
        cpu_share=cpu,
        core_wait_share=core_wait,
        blocked_share=blocked,
        repeat_items=_repeat_items(rows),
        workers=tuple(_worker(number, row) for number, row in enumerate(rows)),
    )


def _worker(number: int, row: Row) -> WorkerTime:
    batches = row[BATCHES]
    if not batches:
        return WorkerTime(number, 0, None, None, None)
    alive_ns = row[IDLE_NS] + row[ITEMS_NS] + row[COLLATE_NS]
    cpu, core_wait, blocked = _shares(row, 1)
    return WorkerTime(
        number,
        batches,
        row[ITEMS_NS] / batches / 1e6,
        row[COLLATE_NS] / batches / 1e6,
        row[IDLE_NS] / alive_ns if alive_ns > 0 else None,
        cpu,
        core_wait,
        blocked,
    )


def _shares(row: Row, workers: int) -> tuple[float | None, float | None, float | None]:
    """Computing, ready without a core, blocked: shares of the busy time."""
    busy_ns = row[ITEMS_NS] + row[COLLATE_NS]
    if busy_ns <= 0:
        return None, None, None
    cpu = min(1.0, row[CPU_NS] / busy_ns)
    if row[HAS_CORE_WAIT] != workers:  # without the kernel's figure the rest cannot be divided
        return cpu, None, None
    core_wait = min(1.0 - cpu, row[CORE_WAIT_NS] / busy_ns)
    return cpu, core_wait, 1.0 - cpu - core_wait


def _repeat_items(rows: list[Row]) -> bool | None:
    """Different workers made the same batch: an iterable data set that nobody splits."""
    prints = [row[FINGERPRINT] for row in rows]
    if len(prints) < 2 or any(each <= 0 for each in prints):
        return None
    return len(set(prints)) == 1
