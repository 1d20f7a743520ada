"""What rules ask about a tf.data pipeline."""

import pytest

from feedwatch.advise.questions.tf_data import (
    cache_change,
    cheaper,
    parallel,
    parallel_calls,
    slowest,
    stage_work,
    start_s,
    started_slowly,
    takes_the_steps_cpus,
    tf_look,
)
from tests.rules.build import EpochBoundaries, case, host, stage, tf_data, window

SLOW = stage("Map", 60.0, element_bytes=1000)
STAGES = (stage("FromTensorSlices", 0.0), SLOW, stage("Batch", 2.0), stage("Prefetch", 0.0))
NO_STARTS = EpochBoundaries(count=4, median_ms=0.0, loader_start_ms=0.0, first_fetch_ms=0.0)
UNTIMED = EpochBoundaries(count=4, median_ms=0.0, first_fetch_ms=0.0)


def look(*stages, run=None, host_facts=None, boundaries=NO_STARTS, **changes):
    settings = {"works_ahead": True, "endless": False, **changes}
    run = run or window(62, 42)
    return tf_look(case(run, tf=tf_data(*(stages or STAGES), **settings), host_facts=host_facts, boundaries=boundaries))


def test_only_where_stages_have_times():
    assert look() is not None
    assert look(stage("Map"), stage("Map", function="resize"), stage("Batch")) is None
    assert look(stage("Batch")) is None
    assert look(host_facts=host(cpu_budget=None)) is None


def test_the_only_function_of_a_pipeline_without_times_is_what_training_waits_for():
    seen = look(stage("Map"), stage("Batch"), stage("Prefetch", buffer_size=-1))
    assert seen.plan.loading[0].busy_ms == pytest.approx(seen.supply.account.batch_ms, rel=0.05)


def test_a_run_that_the_stages_do_not_explain_is_not_looked_at():
    assert look(run=window(300, 280)) is None


def test_the_slowest_stage_is_the_one_that_delivers_least_often():
    shared = stage("ParallelMap", 80.0, parallelism=-1, parallelism_now=8)
    serial = stage("Batch", 20.0)
    assert slowest(look(shared, serial, stage("Prefetch", 0.0), run=window(25, 15))) is serial


def test_parallel_calls_are_no_more_than_the_cpus():
    assert parallel_calls(look(host_facts=host(cpu_budget=2.5))) == 2
    assert parallel_calls(look(cpu_budget=4)) == 4
    assert parallel_calls(look(host_facts=host(cpu_budget=1.5, cpu_used=1.0))) == 1


def test_a_parallel_stage_no_longer_shares_a_thread_with_the_others():
    seen = look()
    changed = parallel(seen, SLOW, 6)
    assert changed.loading[1].lanes == 6
    assert changed.loading[1].threads != changed.loading[2].threads
    assert changed.batch_ms() < seen.plan.batch_ms() / 2


def test_a_cheaper_stage_keeps_its_share_of_work():
    seen = look()
    assert stage_work(seen, SLOW).busy_ms == pytest.approx(60.0, rel=0.02)
    assert cheaper(seen, SLOW, 0.5).loading[1].busy_ms == pytest.approx(30.0, rel=0.02)
    assert cheaper(seen, SLOW, 0.5, lanes=3.0).loading[1].lanes == 3.0


def test_a_cache_stands_behind_the_last_stage_that_is_the_same_in_every_epoch():
    change = cache_change(look())
    assert change.last is SLOW
    assert change.same_ms == pytest.approx(60.0, rel=0.02)
    assert change.epoch_bytes == 1000 * 32 * 50
    assert change.shuffle is None
    assert change.best.batch_ms() <= change.worst.batch_ms() < 62


def test_a_shuffle_before_the_work_moves_behind_the_cache():
    shuffle = stage("Shuffle", 0.1, buffer_size=100)
    change = cache_change(look(STAGES[0], shuffle, *STAGES[1:]))
    assert (change.last, change.shuffle) == (SLOW, shuffle)


@pytest.mark.parametrize(
    "seen",
    [
        look(endless=True),
        look(endless=None, boundaries=UNTIMED),
        look(STAGES[0], stage("Map", 60.0, element_bytes=1000, random=True), *STAGES[2:]),
        look(STAGES[0], stage("Map", 60.0, element_bytes=1000, random=None), *STAGES[2:]),
        look(STAGES[0], SLOW, stage("Cache", 0.0), *STAGES[2:]),
        look(STAGES[0], stage("Map", 60.0, element_bytes=10**8), *STAGES[2:]),
        look(STAGES[0], stage("Map", 60.0), *STAGES[2:]),
        look(host_facts=host(ram_available_gb=None)),
    ],
    ids=["endless", "perhaps endless", "random", "perhaps random", "cached", "too large", "size unknown", "no memory"],
)  # fmt: skip
def test_nothing_is_kept_that_is_not_the_same_or_does_not_fit(seen):
    assert cache_change(seen) is None


def test_a_random_stage_ends_what_can_be_kept():
    augment = stage("Map", 5.0, random=True)
    change = cache_change(look(STAGES[0], SLOW, augment, *STAGES[2:], run=window(67, 47)))
    assert change.last is SLOW
    assert change.best.loading[2].busy_ms == pytest.approx(5.0, rel=0.02)


def test_waits_at_epoch_starts_are_told_from_those_in_steps():
    slow = EpochBoundaries(count=4, median_ms=2000.0, loader_start_ms=0.0, first_fetch_ms=2000.0)
    cheap = (STAGES[0], stage("Map", 5.0), *STAGES[2:])
    seen = look(*cheap, run=window(20, 0.1), boundaries=slow)
    assert started_slowly(seen)
    assert start_s(seen) == pytest.approx(2.0)
    assert not started_slowly(look())


def test_an_input_that_nobody_waits_for_may_still_take_the_steps_cpus():
    assert not takes_the_steps_cpus(look())
    assert takes_the_steps_cpus(look(run=window(64, 1)))
