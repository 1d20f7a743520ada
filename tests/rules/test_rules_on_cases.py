"""Every rule fires where it should, and is silent where it should, or where a fact is missing."""

import ast
from importlib import import_module
from pkgutil import iter_modules

import pytest

from feedwatch.advise.engine import advise
from feedwatch.advise.registry import RULES
from feedwatch.diagnose.thresholds import THRESHOLDS
from tests.rules import cases
from tests.rules.build import QUICK_EPOCHS, case, host, keras_run, window

CASES = {file.name.upper(): import_module(f"{cases.__name__}.{file.name}") for file in iter_modules(cases.__path__)}


def each(kind):
    return [
        pytest.param(rule, case, id=f"{rule.code} {name}")
        for rule in RULES
        if rule.code in CASES
        for name, case in getattr(CASES[rule.code], kind).items()
    ]


def codes(case):
    return [finding.code for finding in advise(case)]


def test_every_rule_has_cases_and_all_cases_belong_to_a_rule():
    assert set(CASES) == {rule.code for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_rule_has_cases_of_all_three_kinds(rule):
    module = CASES[rule.code]
    assert module.FIRES
    assert module.SILENT
    assert module.UNKNOWN


@pytest.mark.parametrize(("rule", "case"), each("FIRES"))
def test_it_fires(rule, case):
    assert rule.check(case) is not None
    assert rule.code in codes(case)


@pytest.mark.parametrize(("rule", "case"), each("SILENT"))
def test_it_is_silent(rule, case):
    assert rule.code not in codes(case)


@pytest.mark.parametrize(("rule", "case"), each("UNKNOWN"))
def test_a_missing_fact_silences_it(rule, case):
    assert rule.check(case) is None


@pytest.mark.parametrize(("rule", "case"), each("FIRES"))
def test_the_fix_is_filled_in_and_compiles(rule, case):
    finding = next(one for one in advise(case) if one.code == rule.code)
    assert finding.fix.before.strip()
    assert finding.fix.after.strip()
    for text in (finding.title, finding.why):
        assert text.strip()
        assert "None" not in text
    ast.parse(finding.fix.before)
    ast.parse(finding.fix.after)


@pytest.mark.parametrize(("rule", "case"), each("FIRES"))
def test_evidence_and_gain_are_finite_numbers_with_a_reason(rule, case):
    finding = next(one for one in advise(case) if one.code == rule.code)
    assert finding.evidence
    assert all(
        isinstance(value, float) and value == value and abs(value) != float("inf")
        for value in finding.evidence.values()
    )
    if finding.gain is not None:
        assert THRESHOLDS.least_gain <= finding.gain.low <= finding.gain.high < 1001
        assert finding.gain.because


HEALTHY = [
    pytest.param(case, id=f"{rule.code} {name}")
    for rule in RULES
    if rule.code in CASES
    for name, case in CASES[rule.code].SILENT.items()
    if name == "healthy"
]


@pytest.mark.parametrize("case", HEALTHY)
def test_a_healthy_run_gets_no_advice_at_all(case):
    assert codes(case) == []


def test_a_call_costs_more_where_the_training_thread_waits_for_a_cpu():
    quiet, busy = (
        next(
            one.gain
            for one in advise(
                case(
                    window(2.6, 0.05, other_ms=0.4, steps=2000),
                    kind="arrays",
                    boundaries=QUICK_EPOCHS,
                    of=keras_run(run_eagerly=False),
                    host_facts=host(training_delay=delay),
                )
            )
            if one.code == "FW309"
        )
        for delay in (0.0, 0.5)
    )
    assert busy.low > quiet.low
    assert busy.high > quiet.high
