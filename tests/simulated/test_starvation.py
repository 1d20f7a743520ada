"""Starvation by timing events, inside a real Trainer: the right verdict, and the simulator's own busy log as truth."""

import warnings

import pytest

pytest.importorskip("lightning")

from feedwatch.model.verdict import Bound
from tests.simulated.rig import Rig, SimulatedFeedWatch, fit
from tests.simulated.scenarios import SCENARIOS, STEPS, Scenario

TOLERANCE_NS = 200_000


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def watched(scenario, tmp_path):
    rig = Rig(scenario)
    watch = SimulatedFeedWatch(rig, tmp_path)
    fit(rig, [watch])
    return rig, watch


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_verdict_is_right_and_starved_time_is_what_the_device_idled(name, tmp_path):
    scenario = SCENARIOS[name]
    rig, watch = watched(scenario, tmp_path)

    assert len(watch.records) == STEPS
    truth_ns = [rig.device.idle_ns(begin, end) for begin, end in rig.waits]
    for record, idle_ns in zip(watch.records, truth_ns, strict=True):
        assert record.starved_ns == pytest.approx(idle_ns, abs=TOLERANCE_NS)
    assert watch.report.verdict.bound is scenario.verdict
    assert watch.report.clock == "device"
    assert (watch.session.facts.run.synchronises is not None) == scenario.synchronises


@pytest.mark.parametrize("name", SCENARIOS)
def test_starved_time_is_what_an_infinitely_fast_loader_would_save(name, tmp_path):
    rig, watch = watched(SCENARIOS[name], tmp_path)
    fast = Rig(SCENARIOS[name], fast_loader=True)
    fit(fast, [])

    saved_ns = rig.host.now_ns() - fast.host.now_ns()
    starved_ns = sum(record.starved_ns for record in watch.records)
    assert starved_ns == pytest.approx(saved_ns, abs=TOLERANCE_NS * STEPS / 10)


def test_a_host_that_waits_while_the_device_is_busy_is_not_input_bound(tmp_path):
    _, watch = watched(SCENARIOS["host_waits_while_device_is_busy"], tmp_path)

    steady = watch.records[10:]
    assert sum(record.host_wait_ns for record in steady) / len(steady) > 6_000_000
    assert sum(record.starved_ns for record in steady) / len(steady) < TOLERANCE_NS
    assert watch.report.verdict.bound is Bound.COMPUTE


def test_copy_and_compute_are_device_times(tmp_path):
    scenario = Scenario(Bound.TRANSFER, copy=2.0, copy_blocks=True)
    _, watch = watched(scenario, tmp_path)

    for record in watch.records[5:]:
        assert record.h2d_ns == pytest.approx(2_000_000, abs=TOLERANCE_NS)
        assert record.compute_ns == pytest.approx(9_050_000, abs=TOLERANCE_NS)
        assert record.wall_ns == pytest.approx(
            record.starved_ns + record.h2d_ns + record.compute_ns + record.other_ns, abs=1000
        )


def test_events_are_reused_and_none_is_dropped(tmp_path):
    rig, watch = watched(SCENARIOS["read_every_step"], tmp_path)

    assert watch.report.steps.dropped == 0
    assert rig.clock.made < 40
