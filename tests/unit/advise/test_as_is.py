"""The run as it is, as a plan."""

from dataclasses import replace

import pytest

from feedwatch.advise.as_is import cold_share, cpus, handover, is_python, lanes_of, works_ahead
from feedwatch.advise.supply import supply
from tests.rules.build import (
    EpochBoundaries,
    batch,
    case,
    cuda,
    host,
    keras_run,
    loader,
    stage,
    tf_data,
    torch_run,
    window,
)

IN_PROCESS = loader(num_workers=0, prefetch_factor=None, load_ms=None)


def known(run=None, **changes):
    return supply(case(run or window(100, 60), **{"loader": IN_PROCESS, **changes}))


def test_ranks_on_one_machine_share_its_cpus():
    some = case(window(), of=torch_run(local_ranks=4), loader=IN_PROCESS)
    assert cpus(some.facts) == 2.0


def test_waiting_for_a_cpu_that_loading_has_is_not_the_steps_own_time():
    free, busy = host(), host(training_cpus=0.6, training_delay=0.2, machine_cpu_share=0.9, cpu_used=7.0)
    ahead = {"run": window(100, 20), "loader": loader(num_workers=2, load_ms=100.0)}
    assert known(**ahead, host_facts=busy).plan.step_ms < known(**ahead, host_facts=free).plan.step_ms
    on_gpu = known(**ahead, host_facts=busy, of=cuda())
    assert on_gpu.plan.step_ms == pytest.approx(known(**ahead, host_facts=free, of=cuda()).plan.step_ms)


def test_without_workers_only_other_programs_keep_the_loop_from_a_cpu():
    busy = host(training_cpus=0.6, training_delay=0.2, machine_cpu_share=1.0)
    seen = known(host_facts=busy)
    assert seen.plan.relief_ms == 0.0
    assert seen.plan.loading[0].stretch > 1.0
    assert seen.error == pytest.approx(1.0, abs=0.02)


def test_the_first_batch_of_an_epoch_is_made_while_training_waits_for_it_and_not_once_more():
    pipeline = tf_data(stage("Map", 50.0), stage("Batch", 1.0), stage("Prefetch", 0.1), works_ahead=True)
    short_epochs = EpochBoundaries(9, 80.0, 0.07, 60.0, 50.0)
    seen = supply(case(window(52, 40), tf=pipeline, of=keras_run(), boundaries=short_epochs))
    assert seen.plan.first > 0
    twice = replace(seen.plan, first=0.0)
    assert seen.plan.batch_ms() < twice.batch_ms()


def test_a_handover_grows_with_tensors_and_bytes():
    small, large = (case(window(), batch=batch(size_bytes=size, tensors=2)).facts for size in (1000, 50_000_000))
    many = case(window(), batch=batch(size_bytes=1000, tensors=20)).facts
    assert all(one < more for one, more in zip(handover(small), handover(large), strict=True))
    assert all(one < more for one, more in zip(handover(small), handover(many), strict=True))
    slow = case(window(), batch=batch(size_bytes=1000), host_facts=host(handover_ms=1.0, handover_ms_per_mb=2.0)).facts
    assert handover(slow) > handover(small)


def test_what_runs_counts_before_what_is_written():
    slow, last = stage("Map", 60.0), stage("Batch", 2.0)
    assert works_ahead(tf_data(slow, last, stage("Prefetch", 0.0)))
    assert not works_ahead(tf_data(slow, last))
    assert works_ahead(tf_data(slow, last, works_ahead=True))
    assert works_ahead(tf_data(slow, last, keras_prefetch=True))
    assert not works_ahead(tf_data(slow, last, stage("Prefetch", 0.0), works_ahead=False))


def test_parallel_calls_are_those_that_run_or_else_those_that_are_written():
    assert lanes_of(stage("ParallelMap", parallelism=-1, parallelism_now=3)) == 3
    assert lanes_of(stage("ParallelMap", parallelism=4)) == 4
    assert lanes_of(stage("ParallelMap", parallelism=-1)) == 1
    assert lanes_of(stage("Map")) == 1


def test_python_is_a_function_or_a_generator():
    assert is_python(stage("Map", python=True))
    assert is_python(stage("FromGenerator"))
    assert not is_python(stage("Map"))


def test_a_shuffle_behind_dear_work_fills_before_the_first_batch():
    account = case(window(100, 60, steps=200)).account  # 50 batches of 32 per epoch
    dear, shuffle = stage("Map", 60.0), stage("Shuffle", 0.0, buffer_size=800)
    assert cold_share(tf_data(dear, shuffle), account) == pytest.approx(0.5)
    assert cold_share(tf_data(shuffle, dear), account) == 0.0
    assert cold_share(tf_data(dear, stage("Cache", 0.0), shuffle), account) == 0.0
    assert cold_share(tf_data(dear, stage("Shuffle", 0.0, buffer_size=10**6)), account) == 1.0
    assert cold_share(tf_data(dear, shuffle, elements_per_batch=None), account) == 0.0


def test_serial_stages_behind_a_prefetch_are_explained():
    data = tf_data(stage("FromTensorSlices", 0.0), stage("Map", 60.0), stage("Batch", 2.0), stage("Prefetch", 0.0))
    seen = supply(case(window(63, 43), tf=data))
    assert seen.explains
    turns = tf_data(stage("FromTensorSlices", 0.0), stage("Map", 60.0), stage("Batch", 2.0))
    assert supply(case(window(82, 62), tf=turns)).explains


def test_a_generator_is_one_lane():
    seen = supply(
        case(window(62, 42), of=keras_run(), kind="generator", load_ms=60.0, host_facts=host(process_cpus=1.2))
    )
    assert seen.explains
    assert seen.plan.ahead
    assert len(seen.plan.loading) == 1
