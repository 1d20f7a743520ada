"""The zoo's own arithmetic, and that it holds what it promises to hold."""

import re
from pathlib import Path

import pytest

from benchmarks.zoo.table import render
from benchmarks.zoo.verdicts import disagree, outcome
from feedwatch.advise.registry import RULES

ZOO = Path(__file__).parents[2] / "benchmarks" / "zoo"
CASE = {"name": "lightning-no-workers", "expects": "FW101", "cause": "no workers", "gain_of": "step"}


def answer(samples_per_s, *findings, step_ms=10.0, run_s=5.0):
    listed = [
        {"code": code, "gain": None if low is None else {"low": low, "high": high}} for code, low, high in findings
    ]
    report = {"findings": listed, "verdict": {"samples_per_s": samples_per_s}}
    return {"report": report, "step_ms": step_ms, "run_s": run_s, "facts": {"run": {"wall_ns": 8e9, "batches": 100}}}


def test_the_gain_reached_is_the_median_of_the_turns():
    """A machine that is three times as slow in one turn slows both of its trainings."""
    bad = [answer(100, ("FW101", 1.5, 2.5)), answer(110, ("FW101", 1.4, 2.4)), answer(30, ("FW101", 1.6, 2.6))]
    seen = outcome(CASE, bad, [answer(200), answer(242), answer(69)])
    assert seen.reached == pytest.approx(2.2)
    assert (seen.low, seen.high) == (1.5, 2.5)
    assert seen.correct
    assert seen.inside


def test_turns_disagree_about_the_finding_or_whether_its_gain_holds():
    bad = [answer(100, ("FW101", 1.5, 2.5)), answer(100, ("FW101", 1.5, 2.5))]
    assert not disagree(CASE, bad, [answer(160), answer(240)])
    assert disagree(CASE, bad, [answer(160), answer(260)])
    assert disagree(CASE, [bad[0], answer(100, ("FW110", 1.5, 2.5))], [answer(160), answer(160)])
    healthy = {**CASE, "expects": None}
    assert not disagree(healthy, [answer(100), answer(50)], [])
    assert disagree(healthy, [answer(100), answer(100, ("FW103", None, None))], [])


def test_a_gain_above_the_range_is_outside():
    assert not outcome(CASE, [answer(100, ("FW101", 1.5, 2.0))], [answer(210)]).inside


def test_the_run_s_gain_is_taken_from_its_wall_time():
    case = {**CASE, "gain_of": "run"}
    seen = outcome(case, [answer(100, ("FW101", 1.2, 1.6), run_s=6.0)], [answer(100, run_s=4.0)])
    assert seen.reached == pytest.approx(1.5)


def test_without_samples_batches_are_compared():
    seen = outcome(CASE, [answer(None, ("FW101", 1.0, 1.1))], [answer(None)])
    assert seen.reached == pytest.approx(1.0)


def test_another_first_finding_is_wrong_even_when_the_expected_one_follows():
    seen = outcome(CASE, [answer(100, ("FW110", 3.0, 4.0), ("FW101", 1.5, 2.0))], [answer(180)])
    assert not seen.correct
    assert seen.inside


def test_a_finding_on_a_healthy_run_is_counted_as_a_false_alarm():
    healthy = {**CASE, "name": "lightning-healthy", "expects": None}
    text = render([outcome(healthy, [answer(100, ("FW103", None, None))], [])], 1, 60.0, 0.2)
    assert "False alarms on healthy runs: 1 of 1" in text


@pytest.mark.parametrize("framework", ["keras", "lightning"])
def test_the_zoo_holds_twelve_cases_of_each_framework_three_of_them_healthy(framework):
    text = (ZOO / f"{framework}_cases.py").read_text()
    expected = re.findall(r'^@case\((None|"FW\d+")', text, re.MULTILINE)
    assert len(expected) >= 12
    assert expected.count("None") >= 3
    assert {code.strip('"') for code in expected} - {"None"} <= {rule.code for rule in RULES}
