"""Sixteen trainings with a known truth. Each says the truth, what feedwatch said, and whether the two agree."""

import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import torch

from feedwatch.model.steps import COMPUTE, H2D, OTHER
from feedwatch.model.verdict import Bound
from feedwatch.report.load import load_run
from feedwatch.selftest import keras_scenes
from feedwatch.selftest.bench import Bench
from feedwatch.selftest.row import Row
from feedwatch.selftest.training import Scene, Watched, fit, loader, loop_step, train
from feedwatch.words import NOT_MEASURED, ms, number, percent, size

TINY_KERNELS: Final = 2000
COST_TURNS: Final = 3


class Scenario(NamedTuple):
    name: str
    run: Callable[[Bench, Path], Row]
    needs: Callable[[Bench], str | None] = lambda _: None  # what is missing here, None: nothing


def near(found: float | None, truth: float, share: float, least: float) -> bool:
    """Within a share of the truth, or within `least`."""
    return found is not None and abs(found - truth) <= max(share * truth, least)


# -- the device and its clock -----------------------------------------------------------------------


def identity(bench: Bench, folder: Path) -> Row:
    """feedwatch, torch and NVML must mean the same device, else utilisation and memory are another one's."""
    about = bench.description
    seen = train(bench, Scene(steps=12, kernel_ms=1, load_ms=0), folder).facts
    total = None if seen.device is None else seen.device.memory_total_bytes
    truth_bytes = bench.memory_bytes()
    agree = seen.run.device_name == about.name and truth_bytes is not None and near(total, truth_bytes, 0.1, 0)
    truth, said = f"{about.name}, {size(truth_bytes)}", f"{seen.run.device_name}, {size(total)}"
    if about.kind == "cuda":
        by_nvml = _name_by_nvml(about.id)
        truth, said, agree = f"{truth}, {about.id}", f"{said}, NVML: {by_nvml}", agree and by_nvml == about.name
    return Row(truth, said, agree)


def _name_by_nvml(uuid: str | None) -> str | None:
    import pynvml

    pynvml.nvmlInit()
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(at) for at in range(pynvml.nvmlDeviceGetCount())]
        names = {_text(pynvml.nvmlDeviceGetUUID(handle)): _text(pynvml.nvmlDeviceGetName(handle)) for handle in handles}
    finally:
        pynvml.nvmlShutdown()
    return names.get(uuid or "")


def event_clock(bench: Bench, _: Path) -> Row:
    idle_ms = bench.span_ms(lambda: time.sleep(0.006))

    def behind_work() -> None:
        bench.kernel(30)

    kernel_ms = bench.span_ms(behind_work)
    clock = bench.clock
    assert clock is not None
    begin, end = clock.new(), clock.new()
    bench.kernel(40)
    clock.record(begin)
    time.sleep(0.006)
    clock.record(end)
    bench.synchronise()
    busy_ms = clock.elapsed_ns(begin, end) / 1e6
    agree = near(idle_ms, 6, 0.2, 1.0) and busy_ms < 0.5 and near(kernel_ms, 30, 0.1, 1.0)
    return Row(
        "idle 6 ms, busy 0 ms, kernel 30 ms", f"idle {ms(idle_ms)}, busy {ms(busy_ms)}, kernel {ms(kernel_ms)}", agree
    )


# -- what bounds a run ------------------------------------------------------------------------------


def _bound(watched: Watched) -> str:
    return f"{watched.report.verdict.bound.value}, waits {percent(watched.report.verdict.stall_ratio)}"


def input_bound(bench: Bench, folder: Path) -> Row:
    watched = train(bench, Scene(load_ms=25, kernel_ms=10), folder)
    verdict = watched.report.verdict
    agree = verdict.bound is Bound.INPUT and near(verdict.stall_ratio, 0.6, 0, 0.1)
    return Row("input, waits 60 %", _bound(watched), agree)


def host_waits_device_busy(bench: Bench, folder: Path) -> Row:
    watched = train(bench, Scene(load_ms=18, kernel_ms=24, pin=True), folder)
    verdict = watched.report.verdict
    agree = verdict.bound is Bound.COMPUTE and near(verdict.stall_ratio, 0, 0, 0.05)
    return Row("compute, waits 0 %", _bound(watched), agree)


def pageable_copy(bench: Bench, folder: Path) -> Row:
    # Without workers: handing over 64 MB may take longer than the copy, and then pinning gains nothing.
    scene = Scene(mb=64, steps=20, load_ms=0, workers=0)
    # Batches as they come from the loader: their pages are fresh, and a copy of them takes longer than of warm ones.
    truth_ms = median([bench.span_ms(partial(batch.to, bench.device)) for batch in loader(replace(scene, steps=8))])
    watched = train(bench, scene, folder)
    copy_ms = watched.mean_ms(H2D)
    worth = truth_ms / (truth_ms + scene.kernel_ms) >= 0.1
    agree = near(copy_ms, truth_ms, 0.4, 1.0) and ("FW201" in watched.codes or not worth)
    return Row(f"copy {ms(truth_ms)}, FW201", f"copy {ms(copy_ms)}, {_codes(watched)}", agree)


def pinned_window(bench: Bench, folder: Path) -> Row:
    scene = Scene(mb=8, pin=True, kernel_ms=10)
    watched = fit(bench, scene, folder, profile=True)
    transfers = watched.report.transfers
    said = None if transfers is None else transfers.mb_per_step
    return Row(
        f"{size(scene.mb * 1e6)} per step",
        NOT_MEASURED if said is None else f"{size(said * 1e6)} per step",
        near(said, scene.mb, 0.1, 0.1),
    )


def read_per_step(bench: Bench, folder: Path) -> Row:
    watched = fit(bench, Scene(kernel_ms=20, pin=True, reads=True), folder)
    found = watched.facts.run.synchronises is not None
    said = f"{'a read' if found else 'no read'} at every step, {_codes(watched)}"
    return Row("a read at every step, no FW304", said, found and "FW304" not in watched.codes)


def tiny_kernels(bench: Bench, folder: Path) -> Row:
    watched = fit(bench, Scene(kernel_ms=2, kernels=TINY_KERNELS, pin=True, steps=30), folder, profile=True)
    transfers = watched.facts.transfers
    device = None if transfers is None else transfers.sample.devices.get(transfers.device)
    steps = 0 if transfers is None else transfers.sample.steps
    each = None if device is None or not steps else device.kernels / steps
    return Row(f"{TINY_KERNELS} kernels per step", f"{number(each)} kernels per step", near(each, TINY_KERNELS, 0.2, 0))


def kernels_after_the_copy(bench: Bench, folder: Path) -> Row:
    watched = fit(bench, Scene(kernel_ms=10, prepare_ms=8, pin=True), folder)
    compute_ms, other_ms = watched.mean_ms(COMPUTE), watched.mean_ms(OTHER)
    agree = near(compute_ms, 18, 0.1, 1.0) and near(other_ms, 0, 0, 1.5)
    return Row("compute 18 ms, other 0 ms", f"compute {ms(compute_ms)}, other {ms(other_ms)}", agree)


def resident_data(bench: Bench, folder: Path) -> Row:
    batches = [torch.ones(1, 1000, device=bench.device) for _ in range(40)]
    watched = train(bench, Scene(), folder, data=batches)
    copy_ms = watched.mean_ms(H2D)
    agree = (copy_ms is None or copy_ms < 0.5) and not {"FW201", "FW202", "FW203"} & watched.codes
    return Row("copy 0 ms, no advice about copies", f"copy {ms(copy_ms)}, {_codes(watched)}", agree)


# -- profiler windows, cost -------------------------------------------------------------------------


def window(bench: Bench, folder: Path) -> Row:
    scene = Scene(kernel_ms=15, pin=True, steps=60)
    plain = fit(bench, scene, folder / "plain").report
    profiled = fit(bench, scene, folder / "profiled", profile=True).report
    truth_ms, said_ms, windows = plain.verdict.step_ms, profiled.verdict.step_ms, profiled.self_cost.profiler_windows
    cost = next((note for note in profiled.self_cost.notes if "profiler window" in note), "no cost said")
    agree = truth_ms is not None and near(said_ms, truth_ms, 0.1, 1.0) and windows > 0
    return Row(f"step {ms(truth_ms)} without", f"step {ms(said_ms)} with; {cost}", agree)


def compiled_with_window(bench: Bench, folder: Path) -> Row:
    """A compiled model (with CUDA graphs where there are some) and a profiler in one process: no crash, every step
    measured, and replays are compute.
    """
    scene = Scene(kernel_ms=8, steps=50, pin=True, compiled=True)
    report = fit(bench, scene, folder, profile=True).report
    truth, windows = f"{scene.steps} steps, compute", report.self_cost.profiler_windows
    said = f"{report.steps.batches} steps, {report.verdict.bound.value}, windows: {windows}"
    agree = report.steps.batches >= scene.steps - 1 and report.verdict.bound is Bound.COMPUTE and windows > 0
    return Row(truth, said, agree)


def cost_per_step(bench: Bench, folder: Path) -> Row:
    """In turns, the fastest of each: the first loader of a process starts slowly, and so does one on a busy machine."""
    scene = Scene(kernel_ms=3, steps=120, pin=True, load_ms=0)
    bare_us, watched_us, own_us = [], [], None
    for turn in range(COST_TURNS):
        began_ns = time.perf_counter_ns()
        step = loop_step(bench, scene)
        for batch in loader(scene):
            step(batch.to(bench.device, non_blocking=True))
        bench.synchronise()
        bare_us.append((time.perf_counter_ns() - began_ns) / 1e3 / scene.steps)
        began_ns = time.perf_counter_ns()
        own_us = train(bench, scene, folder / str(turn)).report.self_cost.us_per_step
        watched_us.append((time.perf_counter_ns() - began_ns) / 1e3 / scene.steps)
    without_us, with_us = min(bare_us), min(watched_us)
    agree = own_us is not None and own_us < 0.05 * without_us and with_us < 1.25 * without_us
    own_ms = None if own_us is None else own_us / 1e3
    said = f"own figure {ms(own_ms)}; {ms(with_us / 1e3)} per step with"
    return Row(f"{ms(without_us / 1e3)} per step without", said, agree)


# -- ranks ------------------------------------------------------------------------------------------


def two_ranks(bench: Bench, folder: Path) -> Row:
    context = multiprocessing.get_context("spawn")
    ranks = [context.Process(target=_rank, args=(rank, str(bench.device), folder)) for rank in range(2)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(120)
    merged = load_run(folder / "feedwatch").ranks
    count = 0 if merged is None else merged.count
    return Row("2 ranks", f"{count} ranks", count == 2)


def _rank(rank: int, device: str, folder: Path) -> None:
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2")
    train(Bench(device), Scene(load_ms=5, kernel_ms=5, steps=20), folder)


# -- what is missing where --------------------------------------------------------------------------


def _codes(watched: Watched) -> str:
    return " ".join(sorted(watched.codes)) or "no finding"


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _clock(bench: Bench) -> str | None:
    return "a device with timing events" if bench.clock is None else None


def _lightning(bench: Bench) -> str | None:
    return _clock(bench) or (None if find_spec("lightning") else "Lightning")


def _spawned(bench: Bench) -> str | None:
    return None if bench.device.type in ("cpu", "cuda", "xpu") else "a device that a second process finds by itself"


def _keras_torch(bench: Bench) -> str | None:
    return _clock(bench) or keras_scenes.missing("torch", "torch", spawned=_spawned(bench) is None)


def _keras_tensorflow(_: Bench) -> str | None:
    return keras_scenes.missing("tensorflow", "tensorflow", spawned=True)


def keras_input_bound(_: Bench, folder: Path) -> Row:
    return keras_scenes.run("tensorflow", keras_scenes.tensorflow_input_bound, folder)


def keras_torch_arrays(bench: Bench, folder: Path) -> Row:
    return keras_scenes.run("torch", keras_scenes.torch_arrays, folder, KERAS_TORCH_DEVICE=str(bench.device))


SCENARIOS: Final = (
    Scenario("identity", identity, _clock),
    Scenario("event clock", event_clock, _clock),
    Scenario("input-bound", input_bound),
    Scenario("host waits, device busy", host_waits_device_busy, _clock),
    Scenario("pageable copy of 64 MB", pageable_copy, _clock),
    Scenario("bytes of pinned copies", pinned_window, _lightning),
    Scenario("a read at every step", read_per_step, _lightning),
    Scenario("2,000 tiny kernels", tiny_kernels, _lightning),
    Scenario("kernels after the copy", kernels_after_the_copy, _lightning),
    Scenario("data on the device", resident_data, _clock),
    Scenario("a profiler window", window, _lightning),
    Scenario("torch.compile and a window", compiled_with_window, _lightning),
    Scenario("Keras on TensorFlow", keras_input_bound, _keras_tensorflow),
    Scenario("Keras on torch, arrays", keras_torch_arrays, _keras_torch),
    Scenario("cost per step", cost_per_step),
    Scenario("two ranks", two_ranks, _spawned),
)
