"""What rules ask about batches that Python makes one after the other."""

import pytest

from feedwatch.advise.questions.python_batches import (
    POOL_STOPS_MS,
    advised_pool,
    batch_bytes,
    made_by,
    pooled,
    python_look,
    with_pool,
    with_pool_at_best,
    with_pool_at_worst,
)
from tests.rules.build import PyDatasetFacts, batch, case, host, keras_run, window

PHOTOS = PyDatasetFacts("Photos", 1, use_multiprocessing=False, max_queue_size=10)


def look(process_cpus=1.0, load_ms=60.0, *, batch_facts=None, data=PHOTOS, run=None):
    host_facts = host(cpu_budget=4.0, process_cpus=process_cpus)
    return python_look(
        case(run or window(62, 42), pydataset=data, load_ms=load_ms, host_facts=host_facts, batch=batch_facts)
    )


def test_what_python_burns_beside_the_step_is_computing_and_the_rest_is_waiting():
    busy, idle = look(process_cpus=1.3).work, look(process_cpus=0.3).work
    assert busy.cpu_ms > 0.9 * busy.busy_ms
    assert idle.wait_ms > 0.9 * idle.busy_ms
    assert busy.lock_ms == busy.cpu_ms


def test_several_workers_are_no_single_lane():
    many = PyDatasetFacts("Photos", 4, use_multiprocessing=False, max_queue_size=10)
    assert look(data=many) is None


def test_a_run_without_loading_is_not_looked_at():
    assert look(load_ms=0.0, run=window(20, 0.0)) is None


def test_threads_take_turns_at_the_lock_and_processes_do_not():
    seen = look(process_cpus=1.3)
    assert with_pool(seen, 4, processes=True).batch_ms() < with_pool(seen, 4, processes=False).batch_ms()


def test_work_that_waits_gets_threads_and_work_that_computes_processes():
    assert advised_pool(look(process_cpus=0.3))[1] is False
    assert advised_pool(look(process_cpus=1.3))[1] is True


def test_batches_too_heavy_for_a_pipe_stay_in_the_process():
    heavy = look(process_cpus=1.3, batch_facts=batch(size_bytes=400_000_000))
    assert advised_pool(heavy)[1] is False


def test_a_batch_is_as_heavy_as_its_samples_where_only_they_are_known():
    samples = PyDatasetFacts("Photos", 1, use_multiprocessing=False, max_queue_size=10, sample_bytes=1000)
    run = window(62, 42)
    assert batch_bytes(case(run, pydataset=samples, load_ms=60.0)) == pytest.approx(32 * 1000)
    heavy = PyDatasetFacts("Photos", 1, use_multiprocessing=False, max_queue_size=10, sample_bytes=10**7)
    assert advised_pool(look(process_cpus=1.3, data=heavy, run=run))[1] is False


def test_keras_waits_for_its_pool_at_the_end_of_every_epoch():
    seen = look(process_cpus=0.3)
    pooled_plan = with_pool(seen, 4, processes=False)
    per_batch_ms = POOL_STOPS_MS / seen.supply.account.epoch_batches
    assert pooled_plan.aside_ms - seen.plan.aside_ms == pytest.approx(per_batch_ms)


def test_at_best_a_part_of_the_computing_was_the_steps():
    seen = look(process_cpus=0.9)
    usual, best = (make(seen, 4, processes=False) for make in (with_pool, with_pool_at_best))
    assert best.load_cpu_ms == pytest.approx(usual.load_cpu_ms / 2)
    assert best.loading[0].own_ms == pytest.approx(usual.loading[0].own_ms)
    assert with_pool_at_best(seen, 4, processes=True) == with_pool(seen, 4, processes=True)


def test_a_generator_on_torch_is_loaded_between_the_steps():
    some = case(window(100, 60), of=keras_run(backend="torch"), kind="generator", host_facts=host(process_cpus=1.0))
    assert not python_look(some).plan.ahead
    assert python_look(some).work.busy_ms == pytest.approx(60.0)


def test_a_pool_is_named_by_what_is_in_it():
    assert pooled(1, processes=True) == "1 process"
    assert pooled(3, processes=False) == "3 threads"
    seen = look(process_cpus=0.3)
    assert made_by(seen, 4, with_pool(seen, 4, processes=False), processes=False).startswith("4 threads make a batch")


def test_threads_promise_nothing_where_work_computes_for_a_part_of_its_time():
    mixed, waiting = look(process_cpus=0.9), look(process_cpus=0.3)
    assert 0.3 < mixed.work.cpu_ms / mixed.work.own_ms < 0.9
    assert with_pool_at_worst(mixed, 4, processes=False).batch_ms() >= mixed.plan.batch_ms()
    assert with_pool_at_worst(waiting, 4, processes=False) == with_pool(waiting, 4, processes=False)
