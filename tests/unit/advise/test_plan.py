"""What one batch needs of each resource, and how long it takes."""

from dataclasses import replace

import pytest

from feedwatch.advise.plan import EVEN, UNEVEN, USUAL, Plan, Work, soft_max

STEP = Plan(loading=(), ahead=True, step_ms=20.0, step_cpu_ms=5.0, cpus=16.0)


def loaded(*works, **changes):
    return replace(STEP, loading=works, **changes)


def test_nearly_equal_loads_hold_each_other_up():
    assert soft_max(USUAL, ()) == 0.0
    assert soft_max(USUAL, (10.0,)) == pytest.approx(10.0)
    assert soft_max(USUAL, (10.0, 1.0)) == pytest.approx(10.0, rel=0.01)
    assert 10.0 < soft_max(EVEN, (10.0, 10.0)) < soft_max(USUAL, (10.0, 10.0)) < soft_max(UNEVEN, (10.0, 10.0)) < 20.0


def test_without_loading_a_batch_is_its_step():
    assert STEP.batch_ms() == pytest.approx(20.0)


def test_loading_between_the_steps_is_added():
    assert loaded(Work("items", 30.0), ahead=False).batch_ms() == pytest.approx(50.0)


def test_loading_ahead_costs_the_longer_of_both():
    assert loaded(Work("items", 200.0)).batch_ms() == pytest.approx(200.0, rel=0.01)
    assert loaded(Work("items", 2.0)).batch_ms() == pytest.approx(20.0, rel=0.01)


def test_lanes_divide_the_time_as_far_as_the_cpus_go():
    computing, waiting = Work("items", 320.0, lanes=32.0), Work("items", 0.0, wait_ms=320.0, lanes=32.0)
    assert loaded(waiting).batch_ms() < 23
    assert loaded(computing, cpus=4.0).batch_ms() >= 320 / 4


def test_stages_on_the_same_threads_take_turns_and_others_do_not():
    first, second = Work("read", 60.0, threads=0), Work("decode", 60.0, threads=0)
    assert loaded(first, second).batch_ms() >= 120
    assert loaded(first, replace(second, threads=1)).batch_ms() < 100


def test_the_interpreters_lock_is_held_by_one_at_a_time():
    assert loaded(Work("python", 80.0, lanes=8.0, lock_ms=80.0)).batch_ms() >= 80


def test_the_step_shares_its_cpus_with_loading():
    plan = loaded(Work("items", 40.0, lanes=2.0), step_cpu_ms=40.0, cpus=2.0)
    assert plan.batch_ms() >= 40
    assert plan.resident().batch_ms() == pytest.approx(20.0)


def test_crowded_cpus_make_the_same_work_dearer_and_idle_ones_do_not():
    full = loaded(Work("items", 40.0, lanes=2.0), step_cpu_ms=40.0, cpus=2.0)
    assert full.batch_ms(1.35) > 1.1 * full.batch_ms()
    # What was measured on full CPUs does not become dearer there.
    assert replace(full, busy=1.0).batch_ms(1.35) == full.batch_ms()
    assert full.batch_ms() < replace(full, busy=0.75).batch_ms(1.35) < full.batch_ms(1.35)
    assert loaded(Work("items", 40.0, lanes=2.0)).batch_ms(1.35) == loaded(Work("items", 40.0, lanes=2.0)).batch_ms()
    alone = loaded(Work("items", 40.0), ahead=False, cpus=1.0, step_cpu_ms=20.0)
    assert alone.batch_ms(1.35) == alone.batch_ms()


def test_while_a_buffer_fills_nothing_overlaps():
    plan = loaded(Work("items", 20.0), cold=0.5)
    assert plan.batch_ms() > loaded(Work("items", 20.0)).batch_ms()
    assert loaded(Work("items", 20.0), cold=1.0).batch_ms() >= 40.0


def test_epoch_starts_validation_and_gaps_are_added():
    assert replace(STEP, start_ms=3.0, aside_ms=4.0).batch_ms() == pytest.approx(27.0)
    assert replace(STEP, start_ms=3.0, aside_ms=4.0).resident().batch_ms() == pytest.approx(24.0)


def test_less_work_is_less_of_every_kind():
    left = loaded(Work("items", 10.0, wait_ms=4.0, lock_ms=8.0)).with_less(cpu=0.5, wait=0.25).loading[0]
    assert (left.cpu_ms, left.wait_ms, left.lock_ms) == (5.0, 1.0, 4.0)
