"""Large runs, simulated: ten million steps, 64 loader workers, 1,024 ranks. Real code, made-up records."""

import multiprocessing
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from benchmarks.part import Effort, run_part
from feedwatch.digest import Digest
from feedwatch.hooks.torch.workers import (
    BATCHES,
    COLLATE_NS,
    CPU_NS,
    HAS_CORE_WAIT,
    IDLE_NS,
    ITEMS_NS,
    WorkerTable,
    fold_workers,
)
from feedwatch.measure.clock import SYSTEM_CLOCK
from feedwatch.measure.marks import COMPUTE, ENTER, H2D, INPUT, LEAVE, TRAINED, Marks
from feedwatch.measure.steps import StepReader
from feedwatch.measure.window import MAX_WINDOW_STEPS, Piece, WindowCutter
from feedwatch.model.facts import Facts, RunFacts
from feedwatch.model.report import Report, Status
from feedwatch.model.steps import StepRecord
from feedwatch.report.json import REPORT_FILE, dumps, report_file_name
from feedwatch.report.load import load_run

RUN = RunFacts("lightning", "2.6.6", "torch", "cpu", started_s=1.0)


def _records(first: int, count: int) -> list[StepRecord]:
    return [
        StepRecord(step, 10**6 + step % 977, 4 * 10**5 + step % 313, None, 5 * 10**5 + step % 101, samples=32)
        for step in range(first, first + count)
    ]


def _digest(directory: str) -> Digest:
    return Digest([], Path(directory), StepReader(), WindowCutter(1.0, warmup_steps=3), SYSTEM_CLOCK)


def _rss_mb() -> float:
    return psutil.Process().memory_info().rss / 1e6


def _peak_rss_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6  # kilobytes on Linux


def steps(count: int) -> dict[str, Any]:
    """The sink thread's whole work for a run of `count` steps of a millisecond; memory from the first window on."""
    with tempfile.TemporaryDirectory() as directory:
        digest, at_once = _digest(directory), min(1000, MAX_WINDOW_STEPS)
        records, facts = _records(0, at_once), Facts(run=RUN)
        began_s = None
        before_mb = 0.0
        for number in range(max(1, count // at_once)):
            # One slice's records again and again: making ten million tuples would only measure Python.
            digest.take(Piece(records, [], float(number), number * 10**9, 0))
            digest.write(facts, 0)
            if number == 0:
                before_mb, began_s = _rss_mb(), time.perf_counter()
        assert began_s is not None
        took_s, slices = time.perf_counter() - began_s, max(1, count // at_once - 1)
        digest.status = Status.FINISHED
        digest.take(Piece([], [], 1e9, 10**18, 0))
        digest.write(facts, 0)
        size = (Path(directory) / REPORT_FILE).stat().st_size
    return {
        "steps": count,
        "growth_mb": round(_rss_mb() - before_mb, 2),
        "report_kb": round(size / 1e3, 1),
        "digest_us_per_step": round(1e6 * took_s / slices / at_once, 3) if count > at_once else None,
    }


def marks(count: int) -> dict[str, float]:
    """The training thread's side and the engine's, per step of a Lightning run: eight marks."""
    log, reader = Marks(10**9), StepReader()
    append, now_ns, took, read = log.append, SYSTEM_CLOCK.now_ns, [], []
    for _ in range(max(1, count // 1000)):
        began_ns = now_ns()
        for _ in range(1000):
            for category in (INPUT, H2D, COMPUTE):
                append((now_ns(), ENTER, category))
                append((now_ns(), LEAVE, category))
            append((now_ns(), TRAINED, 8))
        taken_ns = now_ns()
        took.append((taken_ns - began_ns) / 1000)
        for _ in reader.read(log.take().marks):
            pass
        read.append((now_ns() - taken_ns) / 1000)
    return {
        "append_ns_per_step": round(statistics.median(took), 1),
        "read_ns_per_step": round(statistics.median(read), 1),
    }


def workers(count: int) -> dict[str, Any]:
    """Reading and folding the table of `count` workers, which happens once per window on the sink's thread."""
    table = WorkerTable(count, inherited=True)
    for number in range(count):
        slot = table.slot(number)
        assert slot is not None
        slot[BATCHES], slot[HAS_CORE_WAIT] = 1000, 1
        slot[IDLE_NS], slot[ITEMS_NS], slot[COLLATE_NS], slot[CPU_NS] = 10**9, 9 * 10**9, 10**9, 8 * 10**9
        slot[30 + number % 20] = 1000
    took = []
    for _ in range(50):
        began_ns = time.perf_counter_ns()
        fold_workers(table.rows())
        took.append((time.perf_counter_ns() - began_ns) / 1e3)
    fold_us = statistics.median(took)
    # A window is about a second: at 5 ms per step it holds 200 steps.
    return {"workers": count, "fold_us_per_window": round(fold_us, 1), "us_per_5_ms_step": round(fold_us / 200, 3)}


def ranks(count: int) -> dict[str, Any]:
    """`count` ranks' files in one directory, read and merged as `feedwatch report` does."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        report = _whole_report()
        for rank in range(count):
            run = replace(report.run, rank=rank, world_size=count)
            (directory / report_file_name(rank)).write_text(dumps(replace(report, run=run)))
        size_mb = sum(file.stat().st_size for file in directory.iterdir()) / 1e6
        before_mb, began = _rss_mb(), time.perf_counter()
        merged = load_run(directory)
        took_s = time.perf_counter() - began
    assert merged.ranks is not None
    return {
        "ranks": count,
        "files_mb": round(size_mb, 1),
        "seconds": round(took_s, 3),
        "peak_growth_mb": round(max(0.0, _peak_rss_mb() - before_mb), 1),
        "seen": merged.ranks.count,
    }


def _whole_report() -> Report:
    """With a full history of 400 points, as after an hour."""
    with tempfile.TemporaryDirectory() as directory:
        digest, facts = _digest(directory), Facts(run=RUN)
        for number in range(400):
            digest.take(Piece(_records(number * 200, 200), [], float(number), number * 10**9, 0))
            digest.write(facts, 0)
        assert digest.latest is not None
        return digest.latest


def main(effort: Effort) -> dict[str, Any]:
    largest = 10**6 if effort.quick else 10**7
    return {
        "steps": [_alone(steps, count) for count in (10**3, 10**5, largest)],
        "marks": marks(10**5),
        "workers": [workers(count) for count in (1, 8, 64)],
        "ranks": [_alone(ranks, count) for count in (64, 1024)],
    }


def _alone(measure: Callable[[int], dict[str, Any]], count: int) -> dict[str, Any]:
    """In a fresh process: memory that an earlier measurement freed would hide what this one needs."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, (count,))


if __name__ == "__main__":
    run_part(main)
