"""The run as it is, as a plan."""

from dataclasses import replace

import pytest

from feedwatch.advise.gains import MOST
from feedwatch.advise.supply import contradiction, supply
from feedwatch.model.steps import COMPUTE
from tests.rules.build import EpochBoundaries, case, host, loader, stage, tf_data, window

IN_PROCESS = loader(num_workers=0, prefetch_factor=None, load_ms=None)


def known(run=None, **changes):
    return supply(case(run or window(100, 60), **{"loader": IN_PROCESS, **changes}))


def test_loading_between_the_steps_is_explained():
    seen = known()
    assert seen.explains
    assert seen.usable
    assert seen.error == pytest.approx(1.0, abs=0.05)
    assert not seen.plan.ahead


def test_workers_that_are_too_slow_are_explained():
    seen = known(window(100, 60), loader=loader(num_workers=2, load_ms=190.0))
    assert seen.explains
    assert seen.plan.ahead


def test_a_run_that_is_not_understood_says_so():
    assert not known(window(100, 90), loader=loader(num_workers=8, load_ms=5.0)).usable


@pytest.mark.parametrize(
    "some",
    [
        case(None, loader=IN_PROCESS),
        case(window(100, 60, steps=5), loader=IN_PROCESS),
        case(window(100, 60), loader=IN_PROCESS, host_facts=host(cpu_budget=None)),
        case(window(100, 60), loader=loader(num_workers=2, load_ms=None)),
    ],
    ids=["no steps", "too few steps", "no budget", "no load time"],
)  # fmt: skip
def test_too_little_is_not_explained(some):
    assert supply(some) is None


def test_a_gain_goes_from_the_run_as_it_is_to_the_plan():
    seen = known()
    same = seen.gain(seen.plan, "nothing changes")
    assert same.low <= 1.0 <= same.high
    assert same.high / same.low < 1.3
    resident = seen.gain(seen.plan.resident(), "all in memory")
    assert resident.high == pytest.approx(seen.ceiling, rel=0.1)
    assert resident.high < MOST


def test_an_error_of_the_model_widens_every_range():
    seen = known()
    off = replace(seen, error=1.4)
    narrow, wide = (one.gain(one.plan.resident(), "") for one in (seen, off))
    assert wide.high / wide.low > narrow.high / narrow.low


CROWD = {"cpu_budget": 2.0, "cpu_used": 2.0, "process_cpus": 1.0, "training_cpus": 0.5, "training_delay": 0.5}


def test_little_loading_cannot_have_held_up_the_step_for_long():
    crowd = host(**CROWD, machine_cpu_share=1.0)
    seen = known(window(100, 1), loader=loader(num_workers=1, load_ms=4.0), host_facts=crowd)
    assert seen.plan.relief_ms <= 2.0


def test_the_ceiling_takes_the_inputs_cpus_out_of_the_step():
    crowd = host(**CROWD, machine_cpu_share=1.0)
    seen = known(window(100, 1), loader=loader(num_workers=2, load_ms=190.0), host_facts=crowd)
    assert seen.ceiling > 1.5


def test_cpus_that_other_programs_take_do_not_come_back_with_a_lighter_input():
    alone, beside = (
        known(window(100, 1), loader=loader(num_workers=1, load_ms=95.0), host_facts=host(**{**CROWD, **use}))
        for use in ({"cpu_used": 2.0, "machine_cpu_share": 1.0}, {"cpu_used": 1.0, "machine_cpu_share": 1.0})
    )
    assert beside.plan.relief_ms < 0.6 * alone.plan.relief_ms
    assert beside.plan.step_ms > alone.plan.step_ms
    assert beside.ceiling < alone.ceiling


def test_what_the_model_does_not_explain_stays_with_a_change_that_removes_little():
    seen = known(window(100, 30), loader=loader(num_workers=2, load_ms=100.0))
    assert seen.error > 1.2
    little = replace(seen.plan, loading=(replace(seen.plan.loading[0], lanes=3.0),))
    assert seen.gain(little, "one more worker").high < 1.15


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (case(window(), loader=IN_PROCESS, host_facts=host(cpu_used=20.0)), "more CPU time"),
        (case(window(), loader=IN_PROCESS, host_facts=host(cpu_budget=-1.0)), "no CPU"),
        (case(window(), loader=loader(load_ms=-5.0)), "loading"),
        (case(window(), loader=loader(collate_ms=-5.0)), "loading"),
        (case(window(), loader=loader(cpu_share=1.5)), "share"),
        (case(window(), loader=loader(load_ms=1e9)), "longer than the run"),
        (case(window(), loader=loader(), host_facts=host(training_delay=-0.1)), "less than no CPU"),
        (case(window(), tf=tf_data(stage("Map", -3.0))), "stage"),
        (case(window(), tf=tf_data(stage("Map", 1e9))), "longer than the run"),
        (case(window(100, -5), loader=IN_PROCESS), "a part"),
    ],
    ids=["more CPU", "no CPU", "load", "collate", "share", "long load", "delay", "stage", "long stage", "wait"],
)  # fmt: skip
def test_figures_that_cannot_all_be_true_silence_the_model(facts, why):
    assert why in contradiction(facts.facts, facts.account)
    assert supply(facts) is None


def test_figures_that_agree_are_no_contradiction():
    some = case(window(), loader=loader())
    assert contradiction(some.facts, some.account) is None


def test_a_gain_carries_the_pace_that_the_tab_draws():
    seen = known()
    workers = replace(seen.plan, ahead=True, loading=tuple(replace(work, lanes=4.0) for work in seen.plan.loading))
    pace = seen.gain(workers, "four workers").pace
    (stage_,) = pace.stages
    assert (pace.ahead, stage_.lanes) == (True, 4.0)
    assert stage_.ms == pytest.approx(60, rel=0.1)
    assert max(pace.step_ms, stage_.ms / 4) <= pace.batch_ms <= pace.step_ms + stage_.ms / 4
    now = seen.gain(seen.plan, "as it is").pace
    assert not now.ahead
    assert now.batch_ms == pytest.approx(100, rel=0.1)


def test_pauses_between_epochs_become_shorter_with_the_epochs():
    seen = known()
    now_ms = seen.plan.batch_ms()
    # Epochs of 7 batches of 100 ms: the tuner of tf.data would wake after 1,270 ms.
    paused = replace(seen, plan=replace(seen.plan, epoch_batches=7.0, asleep=1.0))
    assert paused.plan.batch_ms() == pytest.approx(now_ms + 570 / 7, rel=0.3)
    in_memory = replace(paused.plan, loading=(), ahead=True)
    assert in_memory.batch_ms() - replace(in_memory, asleep=0.0).batch_ms() < 0.6 * (paused.plan.batch_ms() - now_ms)
    assert replace(in_memory, epoch_batches=0.0).batch_ms() == replace(in_memory, asleep=0.0).batch_ms()


def test_loading_that_takes_a_moment_has_not_emptied_the_caches():
    brief = known(window(20, 0.4))
    freed = brief.gain(brief.plan.resident(), "all in memory")
    assert freed.high < 1.15
    assert freed.low < 1.05


def test_how_many_of_a_few_epochs_ended_with_a_pause_is_partly_luck():
    shown = stage("ParallelMap", 60.0, parallelism=-1, parallelism_now=1, tunable=True)
    data = tf_data(shown, stage("Batch", 1.0), stage("Prefetch", 0.0, buffer_size=-1), works_ahead=True, endless=False)

    def usual(pause_ms):
        ends = EpochBoundaries(count=4, median_ms=pause_ms, loader_start_ms=1.0)
        return supply(case(window(62, 42), tf=data, boundaries=ends))

    lucky, unlucky = usual(300.0), usual(3000.0)
    assert lucky is not None
    assert unlucky is not None
    assert 0 < lucky.plan.asleep < unlucky.plan.asleep < 1.0


def test_the_ceiling_knows_how_quick_a_step_can_be():
    run = window(100, 0.2)
    usual = run.phases[COMPUTE]
    quick = replace(run, phases=run.phases | {COMPUTE: replace(usual, quick_ns=usual.total_ns / run.steps * 0.8)})
    none = loader(num_workers=0, prefetch_factor=None, load_ms=None)
    assert supply(case(run, loader=none)).ceiling < 1.05
    assert 1.15 < supply(case(quick, loader=none)).ceiling < 1.3
