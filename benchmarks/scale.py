"""Large runs: ten million steps, 64 workers, 1,024 ranks, a thousand hooks per step (real code, made-up records);
a tf.data graph of 200 stages and a TensorBoard with 500 runs (real ones).
"""

import multiprocessing
import os
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
from feedwatch.measure.marks import COMPUTE, ENTER, FIRST_NAMED, H2D, INPUT, LEAVE, TRAINED, Marks
from feedwatch.measure.steps import StepReader
from feedwatch.measure.window import MAX_WINDOW_STEPS, Piece, WindowCutter
from feedwatch.model.facts import Facts, RunFacts
from feedwatch.model.report import Report, Status
from feedwatch.model.steps import StepRecord
from feedwatch.report.json import REPORT_FILE, dumps, report_file_name
from feedwatch.report.load import load_run

SUMMARY = "/data/plugin/feedwatch/summary"
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


def stages(count: int) -> dict[str, Any]:
    """A tf.data graph of `count` stages, looked at as in Keras' fit: when it is first read, and once per window."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    from feedwatch.hooks.tf_data.facts import TfPipeline

    data = tf.data.Dataset.range(10**9)
    for _ in range(count - 3):  # range, batch and prefetch are stages, too
        data = data.map(lambda number: number + 1)
    data = data.batch(8).prefetch(2)
    notes: list[str] = []
    pipeline, iterator = TfPipeline("tf.data", data, keras_prefetch=False, say=notes.append), iter(data)
    pipeline.iterator(iterator)
    took_ms = []
    for _ in range(11):
        for _ in range(20):
            next(iterator)
        began_ns = time.perf_counter_ns()
        facts = pipeline.read()
        took_ms.append((time.perf_counter_ns() - began_ns) / 1e6)
    return {
        "stages": count,
        "first_ms": round(took_ms[0], 2),
        "ms_per_window": round(statistics.median(took_ms[1:]), 2),
        "seen": len(facts.stages),
        "timed": sum(stage.ms_per_batch is not None for stage in facts.stages),
        "notes": notes,
    }


def actions(count: int) -> dict[str, Any]:
    """A step in which `count` callbacks' hooks are timed: taking the marks, and the engine that reads them."""
    log, reader, before_mb = Marks(10**12), StepReader(), _rss_mb()
    append, now_ns, took, read = log.append, SYSTEM_CLOCK.now_ns, [], []
    named = [FIRST_NAMED + number for number in range(count)]
    for _ in range(max(20, 20_000 // count)):
        began_ns = now_ns()
        for category in (INPUT, COMPUTE, *named):
            append((now_ns(), ENTER, category))
            append((now_ns(), LEAVE, category))
        append((now_ns(), TRAINED, 8))
        taken_ns = now_ns()
        for _ in reader.read(log.take().marks):
            pass
        took.append((taken_ns - began_ns) / 1e3)
        read.append((now_ns() - taken_ns) / 1e3)
    return {
        "actions": count,
        "append_us_per_step": round(statistics.median(took), 1),
        "read_us_per_step": round(statistics.median(read), 1),
        "growth_mb": round(_rss_mb() - before_mb, 2),
    }


def tensorboard(count: int) -> dict[str, Any]:
    """`count` runs in one log directory: until the tab lists all of them, and each later look at the list."""
    from tensorboard import assets, default, program
    from tensorboard.backend import application
    from tensorboard.backend.event_processing import data_ingester
    from werkzeug.test import Client

    from feedwatch.report.tensorboard import own_run
    from feedwatch.tab.loader import FeedwatchLoader

    def listed(directory: str) -> Client:
        board = program.TensorBoard(default.get_plugins())
        board.configure(logdir=directory, reload_interval=0)
        ingester = data_ingester.LocalDataIngester(board.flags)
        ingester.start()
        asset_files = assets.get_default_assets_zip_provider()
        plugins = [FeedwatchLoader()]
        client = Client(application.TensorBoardWSGIApp(board.flags, plugins, ingester.data_provider, asset_files, None))
        client.get(SUMMARY)
        return client

    report = _whole_report()
    with tempfile.TemporaryDirectory() as directory:
        for number in range(count):
            output = own_run(Path(directory) / f"run{number}" / "feedwatch")
            output.report(4000, report, 1_790_000_000.0)
            output.close()
        listed(f"{directory}/nothing")  # TensorBoard imports what it needs, TensorFlow too where it is installed
        before_mb, began = _rss_mb(), time.perf_counter()
        client = listed(directory)
        while len(client.get(SUMMARY).get_json()["runs"]) < count:
            time.sleep(0.05)
        listed_s = time.perf_counter() - began
        looks_ms = []
        for _ in range(5):
            began = time.perf_counter()
            size = len(client.get(SUMMARY).data)
            looks_ms.append((time.perf_counter() - began) * 1e3)
    return {
        "runs": count,
        "listed_s": round(listed_s, 2),
        "look_ms": round(statistics.median(looks_ms), 1),
        "answer_kb": round(size / 1e3, 1),
        "growth_mb": round(_rss_mb() - before_mb, 1),
    }


def simulated(effort: Effort) -> dict[str, Any]:
    counts = (10**3, 10**4, 10**5, 10**6) if effort.quick else (10**3, 10**4, 10**5, 10**6, 10**7)
    return {
        "steps": [_alone(steps, count) for count in counts],
        "marks": marks(10**5),
        "workers": [workers(count) for count in (1, 4, 16, 64)],
        "actions": [_alone(actions, count) for count in (1, 10, 100, 1000)],
        "ranks": [_alone(ranks, count) for count in (4, 16, 64, 256, 1024)],
    }


def real_readers(effort: Effort) -> dict[str, Any]:
    return {
        "stages": [_alone(stages, count) for count in (5, 20, 50, 200)],
        "runs": [_alone(tensorboard, count) for count in (5, 50, 500)],
    }


PORTIONS = {"simulated": simulated, "tf.data and TensorBoard": real_readers}


def _alone(measure: Callable[[int], dict[str, Any]], count: int) -> dict[str, Any]:
    """In a fresh process: memory that an earlier measurement freed would hide what this one needs."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, (count,))


if __name__ == "__main__":
    run_part(PORTIONS)
