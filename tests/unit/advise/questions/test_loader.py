"""What rules ask about batches that are made in Python."""

import pytest

from feedwatch.advise.questions.loader import (
    indexes_memory,
    load_cpu_ms,
    load_ms,
    one_lane_load_ms,
    plan_workers,
    starved_loader,
    supplied,
)
from feedwatch.advise.step_model import StepTimes
from tests.rules.build import case, host, keras_run, loader, torch_run, window


def look(run=None, **changes):
    return starved_loader(case(run or window(100, 60), loader=loader(**changes)))


def test_only_an_input_bound_run_with_a_loader_is_looked_at():
    assert look() is not None
    assert look(window(100, 0.1)) is None
    assert starved_loader(case(window(100, 60))) is None


def test_without_workers_the_wait_is_the_load():
    assert load_ms(look(load_ms=180.0)) == 180.0
    assert load_ms(look(load_ms=None, num_workers=0)) == 60.0
    assert load_ms(look(load_ms=None, num_workers=2)) is None


def test_the_cpu_part_of_loading_is_all_of_it_when_nobody_measured_it():
    free = case(window())
    assert load_cpu_ms(free, loader(cpu_share=None), 100.0) == 100.0
    assert load_cpu_ms(free, loader(cpu_share=0.3, core_wait_share=0.1), 100.0) == pytest.approx(40.0)
    assert load_cpu_ms(free, loader(cpu_share=0.3, core_wait_share=None), 100.0) == pytest.approx(30.0)
    crowd = case(window(), host_facts=host(cpu_used=1.0, machine_cpu_share=1.0))
    assert load_cpu_ms(crowd, loader(cpu_share=0.3, core_wait_share=None), 100.0) == pytest.approx(100.0)


def test_slices_of_memory_are_items_or_whole_batches():
    assert indexes_memory(loader(in_memory=True))
    assert indexes_memory(loader(batch_size=None, dataset_bytes=100))
    assert not indexes_memory(loader(dataset_bytes=100))


def test_as_many_workers_as_the_step_needs_and_the_cpus_carry():
    needed = plan_workers(case(window(212, 180), loader=loader()), look(window(212, 180)), 180.0)
    assert (needed.needed, needed.carried, needed.workers) == (6, 8, 6)
    few = case(window(212, 180), loader=loader(), host_facts=host(cpu_budget=2.0))
    assert plan_workers(few, starved_loader(few), 180.0).workers == 2
    assert plan_workers(case(window(), host_facts=host(cpu_budget=None)), look(), 180.0) is None


def test_workers_that_wait_for_storage_may_outnumber_the_cpus_by_four_to_one():
    slow = case(window(212, 211), loader=loader(cpu_share=0.01, core_wait_share=0.0), host_facts=host(cpu_budget=2.0))
    assert plan_workers(slow, starved_loader(slow), 211.0).carried == 8


def test_one_batch_at_a_time_takes_the_wait_or_with_a_prefetch_the_step():
    times = StepTimes(100, 60)
    assert one_lane_load_ms(case(window(), of=keras_run(), load_ms=33.0), times) == 33.0
    assert one_lane_load_ms(case(window(), of=keras_run()), times) == 100
    assert one_lane_load_ms(case(window(), of=torch_run()), times) == 60


def test_workers_supply_and_one_worker_supplies():
    assert supplied(1, 20.0) == "1 worker supplies a batch every 20 ms"
    assert supplied(3, 20.0) == "3 workers supply a batch every 20 ms"
