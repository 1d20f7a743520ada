"""A real Trainer on the emulated device: what the report says against what the device's own log says."""

import pytest
import torch

from feedwatch.model.verdict import Bound
from tests.contract.device.scenes import Scene, fit, off_ms, stalled

pytestmark = pytest.mark.filterwarnings("ignore")


# A copy of 8 ms that costs the host little: what moves the bytes is this machine's memory, and it is not emulated.
@pytest.mark.parametrize(
    ("scene", "bound"),
    [
        (Scene(load_ms=25, kernel_ms=10), Bound.INPUT),
        (Scene(load_ms=6, kernel_ms=24, pin=True), Bound.COMPUTE),
        (Scene(load_ms=1, kernel_ms=10, mb=2, workers=2), Bound.TRANSFER),
    ],
    ids=["input-bound", "compute-bound", "pageable-copy"],
)
def test_the_verdict_the_clock_and_the_stall_are_the_devices(emulated, tmp_path, scene, bound):
    emulated.settings.pageable_gb_per_s = 0.25
    outcome = fit(scene, tmp_path)
    assert outcome.report.verdict.bound is bound
    assert outcome.report.clock == "device"
    assert outcome.report.verdict.stall_ratio == pytest.approx(stalled(emulated, scene, outcome), abs=0.03)
    assert off_ms(emulated, scene, outcome) == pytest.approx({"starved": 0, "copy": 0, "compute": 0}, abs=0.5)
    assert outcome.facts.run.device_kind == "emulated"
    assert outcome.facts.run.device == "emulated:0 (emulated accelerator 0)"


@pytest.mark.parametrize("pin", [False, True])
def test_whether_batches_are_pinned_is_known(emulated, tmp_path, pin):
    outcome = fit(Scene(pin=pin, steps=12), tmp_path)
    assert outcome.facts.batch.pinned is pin
    assert outcome.facts.pipeline.loader.pin_memory is pin


def test_a_host_that_waits_while_the_device_is_busy_starves_nobody(emulated, tmp_path):
    outcome = fit(Scene(load_ms=12, kernel_ms=30, pin=True), tmp_path)
    assert outcome.typical_ms("host_wait_ns") > 3
    assert outcome.typical_ms("starved_ns") < 1.0
    assert outcome.report.verdict.bound is Bound.COMPUTE


def test_kernels_in_on_after_batch_transfer_are_compute(emulated, tmp_path):
    """Called host time before, with advice to look at callbacks and logging."""
    outcome = fit(Scene(kernel_ms=10, prepare_ms=8, pin=True), tmp_path)
    assert outcome.report.verdict.bound is Bound.COMPUTE
    assert outcome.typical_ms("compute_ns") == pytest.approx(18, abs=1.0)
    assert outcome.typical_ms("other_ns") < 1.0


def test_weights_are_the_same_and_nobody_waits_for_the_device_more_often(emulated, tmp_path):
    scene = Scene(load_ms=2, kernel_ms=3, pin=True, read_loss=True)
    bare = fit(scene, tmp_path / "bare", watch=False)
    without = dict(emulated.counters().waits)
    emulated.reset()
    watched = fit(scene, tmp_path / "watched")
    for plain, ours in zip(bare.parameters, watched.parameters, strict=True):
        assert torch.equal(plain, ours)
    # A queue that is full is the host running ahead, not a question to the device.
    assert {what: count for what, count in emulated.counters().waits.items() if what != "launch_queue"} == {
        what: count for what, count in without.items() if what != "launch_queue"
    }


def test_events_go_to_the_runs_own_device_although_another_one_is_current(emulated, tmp_path):
    outcome = fit(Scene(load_ms=2, kernel_ms=10, pin=True, steps=20), tmp_path, index=1)
    assert outcome.facts.run.device.startswith("emulated:1")
    assert outcome.typical_ms("starved_ns") < 2.0
    assert {it.device for it in emulated.operations("event")} == {1}


def test_what_events_cost_is_in_our_own_figure(emulated, tmp_path):
    outcome = fit(Scene(kernel_ms=3, steps=60), tmp_path)
    assert outcome.report.self_cost.us_per_step > 5


def test_no_profiler_window_opens_by_itself(emulated, tmp_path):
    emulated.settings.profiler_start_ms = 300
    outcome = fit(Scene(kernel_ms=3, steps=60), tmp_path)
    assert outcome.facts.transfers is None
    assert not any("profiler window" in note for note in outcome.facts.notes)
