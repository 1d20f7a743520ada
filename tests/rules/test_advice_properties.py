"""What holds for advice on any run at all."""

import ast
import itertools

from hypothesis import HealthCheck, given, settings

from feedwatch.advise.engine import advise
from feedwatch.advise.precedence import TABLE
from feedwatch.advise.registry import rule
from feedwatch.advise.step_model import step_times
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound
from tests.rules.strategies import runs

generously = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(runs())
@generously
def test_no_input_fix_gains_more_than_the_step_without_its_wait(case):
    times = step_times(case)
    for finding in advise(case).findings:
        if rule(finding.code).relieves is Bound.INPUT and finding.gain is not None:
            assert times is not None
            assert 1.0 <= finding.gain.low <= finding.gain.high <= times.ceiling * 1.000001


@given(runs())
@generously
def test_what_excludes_each_other_is_never_said_together(case):
    said = {finding.code for finding in advise(case).findings}
    for row in TABLE:
        if row.stronger in said:
            assert said.isdisjoint(row.weaker), row.reason


@given(runs())
@generously
def test_two_fixes_together_gain_no_less_than_one_and_no_more_than_there_is(case):
    advice = advise(case)
    if advice.combined is None:
        return
    first, second = advice.findings[:2]
    assert first.gain is not None
    assert second.gain is not None
    assert advice.combined.low >= max(first.gain.low, second.gain.low) * 0.999999
    assert advice.combined.high >= advice.combined.low
    times = step_times(case)
    if rule(first.code).relieves is Bound.INPUT is rule(second.code).relieves and times is not None:
        assert advice.combined.high <= max(times.ceiling, 1.0) * 1.000001


@given(runs())
@generously
def test_findings_stand_in_the_order_of_what_they_are_worth(case):
    gains = [finding.gain for finding in advise(case).findings]
    with_gain = [gain for gain in gains if gain is not None]
    assert gains[: len(with_gain)] == with_gain
    expected = [gain.low * gain.high for gain in with_gain]
    for before, after in itertools.pairwise(expected):
        assert before >= after / 1.05**2 * 0.999


@given(runs())
@generously
def test_every_finding_is_worth_saying_and_can_be_pasted(case):
    for finding in advise(case).findings:
        ast.parse(finding.fix.after)
        if finding.gain is not None:
            assert finding.gain.low * finding.gain.high >= (1 / (1 - THRESHOLDS.worth_saying_share)) ** 2 * 0.999999


@given(runs())
@generously
def test_rules_about_input_speak_only_when_input_is_the_limit(case):
    if case.verdict.bound is not Bound.INPUT:
        spoken = [one.code for one in advise(case).findings if rule(one.code).relieves is Bound.INPUT]
        assert spoken == []
