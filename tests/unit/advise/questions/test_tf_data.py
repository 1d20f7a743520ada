"""What rules ask about a tf.data pipeline."""

import pytest

from feedwatch.advise.questions.tf_data import (
    changed_gain,
    lanes,
    last_working_stage,
    parallel_lanes,
    python_is_limit,
    slowest_stage,
    stage_share,
    starved_tf_data,
    unexplained,
    works_ahead,
)
from tests.rules.build import case, host, stage, tf_data, window

SLOW = stage("Map", 60.0)
AHEAD = tf_data(stage("FromTensorSlices", 0.0), SLOW, stage("Batch", 2.0), stage("Prefetch", 0.0), works_ahead=True)
ROOM = host(cpu_budget=64.0, cpu_used=1.0)


def gain_of(data, run, lanes):
    some = case(run, tf=data, host_facts=ROOM)
    return changed_gain(some, starved_tf_data(some), SLOW, lanes=lanes, left=(1.0, 1.0), because="")


def test_what_runs_counts_before_what_is_written():
    assert works_ahead(AHEAD)
    assert not works_ahead(tf_data(SLOW, stage("Batch", 2.0)))
    assert works_ahead(tf_data(SLOW, stage("Batch", 2.0), works_ahead=True))
    assert works_ahead(tf_data(SLOW, stage("Batch", 2.0), keras_prefetch=True))


def test_a_parallel_stage_feeds_the_others():
    found = gain_of(AHEAD, window(62, 42), lanes=6)
    # 60 ms in 6 calls are 10 ms; the rest of the step is longer.
    assert found.high == pytest.approx(62 / 20.05)


def test_without_a_prefetch_the_other_stages_stay_exposed():
    turns = tf_data(stage("FromTensorSlices", 0.0), SLOW, stage("Batch", 2.0), works_ahead=False)
    assert gain_of(turns, window(82, 62), lanes=6).high == pytest.approx(82 / 22.05)


def test_figures_above_the_measured_pace_are_scaled_down():
    some = case(window(31, 11), tf=AHEAD, host_facts=ROOM, load_ms=62.0, lanes=1.0)
    assert unexplained(some, starved_tf_data(some)) == pytest.approx(0.5)
    found = changed_gain(some, starved_tf_data(some), SLOW, lanes=2, left=(1.0, 1.0), because="")
    assert found.high == pytest.approx(31 / 20.05)


def test_time_that_no_figure_explains_stays_at_worst():
    some = case(window(62, 42), tf=AHEAD, host_facts=ROOM, load_ms=31.0, lanes=1.0)
    assert unexplained(some, starved_tf_data(some)) == pytest.approx(2.0)


def test_autotune_uses_no_more_calls_than_cpus():
    assert parallel_lanes(case(window(), tf=AHEAD, host_facts=host(cpu_budget=2.5)), AHEAD) == 2
    assert parallel_lanes(case(window(), tf=AHEAD, host_facts=host(cpu_budget=None)), AHEAD) is None


def test_a_share_counts_parallel_calls_as_the_time_they_take_together():
    half = stage("ParallelMap", 80.0, parallelism=-1, parallelism_now=4)
    data = tf_data(half, stage("Batch", 20.0))
    assert stage_share(data, half) == pytest.approx(0.5)
    assert stage_share(data, stage("Map")) is None


def test_only_an_input_bound_run_with_stages_is_looked_at():
    assert starved_tf_data(case(window(100, 60), tf=AHEAD)) is not None
    assert starved_tf_data(case(window(100, 0.1), tf=AHEAD)) is None
    assert starved_tf_data(case(window(100, 60), tf=tf_data())) is None
    assert starved_tf_data(case(window(100, 60), tf=AHEAD, kind="arrays")) is None


def test_the_slowest_stage_is_the_one_that_delivers_least_often():
    shared = stage("ParallelMap", 80.0, parallelism=-1, parallelism_now=8)
    serial = stage("Batch", 20.0)
    assert slowest_stage(tf_data(shared, serial)) is serial
    assert slowest_stage(tf_data(stage("Map"))) is None


def test_parallel_calls_are_those_that_run_or_else_those_that_are_written():
    assert lanes(stage("ParallelMap", parallelism=-1, parallelism_now=3)) == 3
    assert lanes(stage("ParallelMap", parallelism=4)) == 4
    assert lanes(stage("ParallelMap", parallelism=-1)) == 1
    assert lanes(stage("Map")) == 1


def test_stages_that_only_pass_elements_on_are_not_the_last_working_one():
    assert last_working_stage(tf_data(stage("Batch"), stage("Prefetch"), stage("Repeat"))).op == "Prefetch"
    assert last_working_stage(tf_data(stage("Repeat"))).op == "Repeat"


def test_python_that_waits_releases_the_lock_and_is_no_limit():
    python = stage("Map", 60.0, python=True)
    busy, idle = (case(window(62, 42), tf=tf_data(python), host_facts=host(cpu_used=used)) for used in (1.0, 0.1))
    assert python_is_limit(busy, python) is True
    assert python_is_limit(idle, python) is False
    assert python_is_limit(busy, stage("Map", 60.0)) is False
    assert python_is_limit(busy, stage("Batch", 60.0)) is None
