"""What holds for advice on any run at all."""

import ast
import itertools
import time
from dataclasses import replace
from statistics import median

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedwatch.advise.engine import advise, fired_on
from feedwatch.advise.gains import MOST
from feedwatch.advise.precedence import TABLE
from feedwatch.advise.questions.loader import loader_look, with_workers
from feedwatch.advise.questions.tf_data import cache_change, parallel, parallel_calls, slowest, tf_look
from feedwatch.advise.registry import rule
from feedwatch.advise.supply import supply
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.steps import COMPUTE, INPUT_WAIT
from tests.rules.build import EpochBoundaries, account, host, judged, loader, stage, window
from tests.rules.build import case as case_of
from tests.rules.strategies import consistent_runs, runs
from tests.rules.test_rules_on_cases import CASES

generously = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(runs())
@generously
def test_even_the_low_end_of_what_is_shown_is_worth_the_edit(case):
    for finding in advise(case):
        if finding.gain is not None:
            assert THRESHOLDS.least_gain <= finding.gain.low <= finding.gain.high <= MOST * 1.2


@given(runs())
@generously
def test_one_knob_is_turned_once(case):
    knobs = [rule(finding.code).knob for finding in advise(case) if finding.gain is not None]
    assert len(knobs) == len(set(knobs))


@given(runs())
@generously
def test_what_excludes_each_other_is_never_said_together(case):
    said = {finding.code for finding in advise(case)}
    for row in TABLE:
        if row.stronger in said:
            assert said.isdisjoint(row.weaker), row.reason


@given(runs())
@generously
def test_findings_stand_in_the_order_of_what_they_are_worth(case):
    gains = [finding.gain for finding in advise(case)]
    with_gain = [gain for gain in gains if gain is not None]
    assert gains[: len(with_gain)] == with_gain
    expected = [gain.low * gain.high for gain in with_gain]
    for before, after in itertools.pairwise(expected):
        assert before >= after / 1.05**2 * 0.999


@given(runs())
@generously
def test_every_finding_can_be_pasted(case):
    for finding in advise(case):
        ast.parse(finding.fix.before)
        ast.parse(finding.fix.after)


@given(runs())
@generously
def test_a_share_of_the_run_is_at_most_all_of_it(case):
    for one in fired_on(case):
        for name, value in one.found.numbers.items():
            assert value == value, name  # not a NaN
            if name.endswith("share"):
                assert 0.0 <= value <= 1.000001, (one.rule.code, name)


# -- what was followed is not taken back ---------------------------------------------------------------

WORKERS = {"FW101", "FW102", "FW103", "FW114"}
CACHE = {"FW126", "FW133", "FW134"}
PARALLEL = {"FW120", "FW122"}


def asks_for_workers(finding):
    """FW116 does where there are none yet: together with one math thread."""
    return finding.code in WORKERS or (finding.code == "FW116" and "workers_advised" in finding.evidence)


def applied(case, finding):
    """The case as it would be after this change: the facts it edits, and the times that the model expects."""
    known = supply(case)
    loader, data = case.facts.pipeline.loader, case.facts.pipeline.tf_data
    if asks_for_workers(finding):
        workers = round(finding.evidence["workers_advised"])
        plan = with_workers(loader_look(case), workers)
        edited = replace(
            loader,
            num_workers=workers,
            persistent_workers=workers > 0,
            load_ms=plan.loading[0].busy_ms,
            ready_share=None,
            math_threads=1 if finding.code == "FW116" else loader.math_threads,
        )
        pipeline = replace(case.facts.pipeline, loader=edited, load_ms=edited.load_ms)
    elif finding.code == "FW121":
        plan = replace(known.plan, ahead=True)
        pipeline = replace(case.facts.pipeline, tf_data=replace(data, works_ahead=True))
    else:
        look = tf_look(case)
        plan, stages = _changed(look, finding)
        pipeline = replace(case.facts.pipeline, tf_data=replace(data, stages=stages))
    return judged(replace(case, facts=replace(case.facts, pipeline=pipeline), **_times(case, known, plan)))


def _changed(look, finding):
    stages = list(look.data.stages)
    if finding.code in PARALLEL:
        at = stages.index(slowest(look))
        calls = parallel_calls(look)
        stages[at] = replace(
            stages[at], op=stages[at].op.replace("Map", "ParallelMap").replace("ParallelParallel", "Parallel"),
            parallelism=-1, parallelism_now=calls, tunable=True,
        )  # fmt: skip
        return parallel(look, look.data.stages[at], calls), tuple(stages)
    change = cache_change(look)
    at = stages.index(change.last)
    left = [
        replace(one, ms_per_batch=(one.ms_per_batch or 0.0) * 0.01, ms_per_element=None) for one in stages[: at + 1]
    ]
    return change.best, (*left, stage("Cache", 0.1), *stages[at + 1 :])


def _times(case, known, plan):
    """The same steps with another wait: the batch takes what the model expects."""
    run, epochs = case.run, case.account.epochs
    batch_ms, step_ms = plan.batch_ms() * known.error, known.account.batch_ms - (known.account.stalled_ms or 0.0)
    wait_ms = max(0.0, batch_ms - step_ms)
    after = window(step_ms + wait_ms, wait_ms, steps=run.steps, other_ms=0.0)
    quick = EpochBoundaries(count=epochs, median_ms=0.0, share=0.0, loader_start_ms=0.0, first_fetch_ms=0.0)
    return {"run": after, "boundaries": quick, "account": account(after, quick)}


def directions(findings):
    """What is asked for: (knob, more or fewer)."""
    for one in findings:
        if one.gain is not None and asks_for_workers(one):
            yield "workers", one.evidence["workers_advised"]
        if one.gain is not None and one.code in CACHE | PARALLEL | {"FW121"}:
            yield one.code, None


@given(consistent_runs() | runs())
@settings(generously, max_examples=300)
def test_what_was_followed_is_not_taken_back(case):
    for finding in advise(case):
        if finding.gain is None or not (asks_for_workers(finding) or finding.code in CACHE | PARALLEL | {"FW121"}):
            continue
        before = 0.0 if case.facts.pipeline.loader is None else case.facts.pipeline.loader.num_workers
        again = dict(directions(advise(applied(case, finding))))
        assert finding.code not in set(again) & (CACHE | {"FW121"})
        if asks_for_workers(finding) and "workers" in again:
            now = finding.evidence["workers_advised"]
            assert (again["workers"] > now) == (now > before), (finding.code, before, now, again)


@pytest.mark.parametrize(("step_ms", "load_ms"), [(30.0, 180.0), (12.0, 60.0), (40.0, 40.0), (3.0, 12.0)])
@pytest.mark.parametrize("cpus", [2.0, 4.0, 8.0])
def test_a_loader_that_was_given_workers_is_not_told_to_have_fewer(step_ms, load_ms, cpus):
    machine = host(cpu_budget=cpus, cpu_used=1.0, process_cpus=0.9, training_cpus=0.9)
    alone = loader(num_workers=0, prefetch_factor=None, cpu_share=0.98)
    case = case_of(window(step_ms + load_ms, load_ms), loader=alone, host_facts=machine)
    for _ in range(3):
        asked = [one for one in advise(case) if one.code in WORKERS]
        assert len(asked) <= 1
        if not asked:
            return
        assert asked[0].evidence["workers_advised"] > case.facts.pipeline.loader.num_workers
        case = applied(case, asked[0])
    pytest.fail("it never comes to rest")


# -- figures that cannot be ----------------------------------------------------------------------------

IMPOSSIBLE = (
    lambda case: replace_host(case, cpu_used=50 + 2 * (case.facts.host.cpu_budget or 8.0)),
    lambda case: replace_host(case, cpu_budget=-1.0),
    lambda case: replace(case, account=with_part(case.account, INPUT_WAIT, -5_000_000)),
    lambda case: replace(case, account=with_part(case.account, COMPUTE, -(10**12))),
)


def replace_host(case, **changes):
    known = {"cpu_budget": case.facts.host.cpu_budget or 8.0, **changes}
    return replace(case, facts=replace(case.facts, host=replace(case.facts.host, **known)))


def with_part(whole, part, value_ns):
    return replace(whole, parts_ns=whole.parts_ns | {part: value_ns})


@given(runs(), st.sampled_from(IMPOSSIBLE))
@generously
def test_figures_that_cannot_all_be_true_silence_the_model_and_never_raise(case, damage):
    broken = damage(case)
    assert supply(broken) is None
    advise(broken)


WILD = st.floats(-1e9, 1e9) | st.sampled_from([0.0, -0.0, 1e-300, 1e300])


@given(runs(), WILD, WILD, WILD)
@generously
def test_wild_figures_never_raise(case, load_ms, stage_ms, share):
    pipeline = case.facts.pipeline
    if pipeline.loader is not None:
        wild = replace(pipeline.loader, load_ms=load_ms, cpu_share=share, blocked_share=share, delivery_ms=stage_ms)
        pipeline = replace(pipeline, loader=wild)
    if pipeline.tf_data is not None:
        stages = tuple(replace(one, ms_per_batch=stage_ms) for one in pipeline.tf_data.stages)
        pipeline = replace(pipeline, tf_data=replace(pipeline.tf_data, stages=stages))
    wild_host = replace(case.facts.host, process_cpus=share, training_delay=load_ms, process_delay=stage_ms)
    facts = replace(case.facts, pipeline=replace(pipeline, load_ms=load_ms), host=wild_host)
    for finding in advise(judged(replace(case, facts=facts))):
        assert finding.gain is None or finding.gain.high < 2 * MOST


# -- its price -----------------------------------------------------------------------------------------


def test_a_judgement_costs_little():
    """The sink's thread has 20 ms for it; the median case has to stay far below, on a busy machine too."""
    spent_ms = []
    for module in CASES.values():
        for case in module.FIRES.values():
            began_ns = time.thread_time_ns()
            advise(judged(case))
            spent_ms.append((time.thread_time_ns() - began_ns) / 1e6)
    assert median(spent_ms) <= 20.0
