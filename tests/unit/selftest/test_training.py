"""The trainings of the self-test."""

from feedwatch.model.steps import COMPUTE, H2D
from feedwatch.selftest.bench import Bench
from feedwatch.selftest.training import Scene, fit, loader, train


def test_a_batch_is_as_large_as_the_scene_says():
    (batch,) = loader(Scene(mb=2, steps=1, workers=0, load_ms=0))
    assert batch.nbytes == 2_000_000


def test_a_loop_on_a_cpu_is_measured_by_the_hosts_clock(tmp_path):
    watched = train(Bench("cpu"), Scene(steps=12, kernel_ms=2, load_ms=0, workers=0), tmp_path)
    assert watched.report.clock == "host"
    assert watched.report.steps.batches == 12
    assert watched.facts.run.device_kind == "cpu"


def test_a_trainer_trains_on_the_device_under_test(emulated, tmp_path):
    watched = fit(Bench("emulated:0"), Scene(steps=20, kernel_ms=8, prepare_ms=4, pin=True), tmp_path)
    assert watched.report.clock == "device"
    assert watched.mean_ms(COMPUTE) > 10
    assert watched.mean_ms(H2D) is not None
