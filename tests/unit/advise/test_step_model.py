"""The arithmetic of a gain, on paper."""

import pytest

from feedwatch.advise.step_model import (
    OPTIMISM,
    StepTimes,
    Supply,
    cpu_budget,
    cpu_floor_ms,
    removed_gain,
    run_gain,
    serial_gain,
    step_times,
    supplied_gain,
)
from tests.rules.build import case, cuda, host, torch_run, window

NO_HANDOVER = (0.0, 0.0)


def test_times_are_per_batch_and_the_rest_is_what_is_not_wait():
    times = step_times(case(window(100, 60, steps=10, batches=40)))
    assert times is not None
    assert (times.step_ms, times.wait_ms, times.rest_ms) == (25.0, 15.0, 10.0)
    assert times.ceiling == 2.5


def test_with_a_device_clock_only_starvation_counts_as_wait():
    times = step_times(case(window(100, 60, starved_ms=10)))
    assert times is not None
    assert times.wait_ms == 10.0


def test_without_steps_there_are_no_times():
    assert step_times(case(None)) is None


def test_ranks_on_one_machine_share_its_cpus():
    assert cpu_budget(case(window(), of=torch_run(local_ranks=4), host_facts=host(cpu_budget=16.0))) == 4.0


def test_the_longest_of_pipeline_rest_and_cpu_work_sets_the_pace():
    free = case(window(212, 180), of=cuda(), host_facts=host(cpu_budget=64.0, cpu_used=None))
    found = supplied_gain(free, StepTimes(212, 180), Supply(180, 6, 180, 0, NO_HANDOVER), "")
    assert found.high == pytest.approx(212 / 32)
    assert found.low == pytest.approx(212 / (32 * (1 + OPTIMISM)))
    few = supplied_gain(free, StepTimes(212, 180), Supply(180, 3, 180, 0, NO_HANDOVER), "")
    assert few.high == pytest.approx(212 / 60)


def test_workers_and_training_share_the_cpus_of_a_cpu_device():
    times = StepTimes(60, 30)
    shared = case(window(60, 30), of=torch_run(), host_facts=host(cpu_budget=2.0, cpu_used=None))
    # One or two CPUs for the training step, one for loading: (30 + 30) / 2 at best, (30 + 60) / 2 at worst.
    assert cpu_floor_ms(shared, times, Supply(30, 1, 30)) == (30.0, 45.0)
    device = case(window(60, 30), of=cuda(), host_facts=host(cpu_budget=2.0, cpu_used=None))
    assert cpu_floor_ms(device, times, Supply(30, 1, 30)) == (30.0, 30.0)


def test_measured_cpu_use_replaces_the_guess():
    times = StepTimes(60, 30)
    idle = case(window(60, 30), host_facts=host(cpu_budget=2.0, cpu_used=0.5))
    best_ms, worst_ms = cpu_floor_ms(idle, times, Supply(30, 1, 30))
    assert best_ms < 60 * 0.5 / 2 < worst_ms < 20


def test_no_gain_exceeds_the_ceiling_and_none_is_a_loss():
    some = case(window(100, 60), host_facts=host(cpu_budget=64.0))
    times = StepTimes(100, 60)
    assert supplied_gain(some, times, Supply(0.1, 8, 0.1, 0, NO_HANDOVER), "").high == pytest.approx(2.5)
    assert supplied_gain(some, times, Supply(500, 1), "").low == 1.0
    assert serial_gain(times, (0.0, 200.0), "").high == pytest.approx(2.5)
    assert serial_gain(times, (0.0, 200.0), "").low == 1.0


def test_removed_time_and_shares_of_the_run():
    assert removed_gain(100, (50, 20), "").high == pytest.approx(2.0)
    assert removed_gain(100, (50, 20), "").low == pytest.approx(1.25)
    assert run_gain((0.5, 0.2), "").high == pytest.approx(2.0)
    assert run_gain((1.0, 0.0), "").low == 1.0
