"""A loop of one's own on the emulated device."""

import pytest
import torch

from feedwatch.model.verdict import Bound
from tests.contract.device.scenes import Scene, loop, off_ms, stalled

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    ("scene", "bound"),
    [
        (Scene(load_ms=25, kernel_ms=10), Bound.INPUT),
        (Scene(load_ms=12, kernel_ms=30, pin=True), Bound.COMPUTE),
        (Scene(load_ms=1, kernel_ms=10, mb=2, workers=2), Bound.TRANSFER),
    ],
    ids=["input-bound", "host-waits-device-busy", "pageable-copy"],
)
def test_the_verdict_is_the_devices(emulated, tmp_path, scene, bound):
    emulated.settings.pageable_gb_per_s = 0.25
    outcome = loop(scene, tmp_path)
    assert outcome.report.verdict.bound is bound
    assert outcome.report.clock == "device"
    assert outcome.report.verdict.stall_ratio == pytest.approx(stalled(emulated, scene, outcome), abs=0.03)
    assert off_ms(emulated, scene, outcome) == pytest.approx({"starved": 0, "copy": 0, "compute": 0}, abs=0.5)


def test_epochs_are_told_apart_and_every_step_is_counted(emulated, tmp_path):
    outcome = loop(Scene(steps=12, kernel_ms=2), tmp_path, epochs=3)
    assert outcome.report.steps.batches == 36
    assert outcome.report.epoch_boundary.count == 2
    assert outcome.report.steps.dropped == 0


def test_events_go_to_the_loops_own_device_although_another_one_is_current(emulated, tmp_path):
    """On the idle stream of device 0 every wait of the host would look like a starved device."""
    outcome = loop(Scene(load_ms=8, kernel_ms=20, pin=True), tmp_path, device="emulated:1")
    assert torch.emulated.current_device() == 0
    assert {it.device for it in emulated.operations("event")} == {1}
    assert outcome.typical_ms("host_wait_ns") > 3
    assert outcome.typical_ms("starved_ns") < 2.0


def test_weights_are_the_same_and_nobody_waits_for_the_device_more_often(emulated, tmp_path):
    scene = Scene(load_ms=2, kernel_ms=3, read_loss=True)
    bare = loop(scene, tmp_path / "bare", watch=False)
    without = dict(emulated.counters().waits)
    emulated.reset()
    watched = loop(scene, tmp_path / "watched")
    for plain, ours in zip(bare.parameters, watched.parameters, strict=True):
        assert torch.equal(plain, ours)
    assert emulated.counters().waits == without


def test_a_copy_that_is_named_twice_or_outside_a_run_disturbs_nobody(emulated, tmp_path):
    from feedwatch.torch import FeedWatch

    watch = FeedWatch(tmp_path, console=False, device="emulated")
    with watch.copying():
        pass
    for batch in watch([torch.zeros(2)] * 8):
        with watch.copying(), watch.copying():
            batch.to("emulated")
    torch.accelerator.synchronize()
    assert watch.close().steps.batches == 8
    with watch.copying():
        pass
