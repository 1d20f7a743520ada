"""Before and after a change: differences, and noise that is none."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from feedwatch.model.report import Report
from feedwatch.report.compare import Call, Unit, compare, mann_whitney_p
from feedwatch.report.json import from_json
from tests.tab import reports


def row_of(before: Report, after: Report, name: str):
    return next(row for row in compare(before, after).rows if row.name == name)


def with_wait(report: Report, values) -> Report:
    series = report.series
    n = len(values)
    cut = {phase: getattr(series, phase)[:n] for phase in ("step", "h2d", "compute", "other")}
    return replace(report, series=replace(series, input_wait=tuple(values), **cut))


@pytest.fixture
def slow() -> Report:
    return from_json(reports.workers2())


@pytest.fixture
def faster() -> Report:
    return from_json(reports.workers6())


def test_a_real_change_is_significant_and_an_untouched_phase_is_not(slow, faster):
    comparison = compare(slow, faster)
    calls = {row.name: row.call for row in comparison.rows}
    assert comparison.speedup == pytest.approx(1711.0 / 1003.1)
    assert calls["input wait"] is calls["step"] is calls["stall ratio"] is Call.SIGNIFICANT
    assert calls["compute"] is Call.WITHIN_NOISE


def test_changes_are_relative_and_shares_differ_in_points(slow, faster):
    assert row_of(slow, faster, "step").change == pytest.approx(37.4 / 63.8 - 1)
    stall = row_of(slow, faster, "stall ratio")
    assert (stall.unit, stall.change) == (Unit.SHARE, pytest.approx(0.19 - 0.539))


def test_a_run_does_not_differ_from_itself(slow):
    comparison = compare(slow, slow)
    assert comparison.speedup == 1.0
    assert {row.call for row in comparison.rows} == {Call.WITHIN_NOISE}


def test_a_phase_that_one_run_did_not_measure_is_not_compared(slow):
    row = row_of(slow, from_json(reports.tf_data()), "copy to device")
    assert (row.call, row.after, row.change) == (Call.NOT_MEASURED, None, None)


def test_four_windows_are_too_few_to_tell_and_the_row_says_how_many_it_takes(slow, faster):
    row = row_of(slow, with_wait(faster, faster.series.input_wait[:4]), "input wait")
    assert (row.call, row.windows, row.windows_needed) == (Call.TOO_FEW, 4, 5)
    assert row_of(slow, with_wait(faster, [7.0, 7.5, 8, 7.2, 7.9]), "input wait").call is Call.SIGNIFICANT


def test_points_of_warm_up_are_not_compared(slow):
    warm = replace(slow, steps=replace(slow.steps, warmup=slow.series.step[2]))
    assert row_of(warm, with_wait(warm, slow.series.input_wait[:7]), "input wait").windows == 4


def test_runs_without_a_verdict_have_no_speedup(slow):
    assert compare(slow, from_json(reports.failed())).speedup is None


def test_noise_that_wanders_is_rarely_called_a_change(slow):
    """Windows resemble their neighbours: with every point as a witness this would fail most of the time."""
    draw = np.random.default_rng(5)

    def wandering():
        noise = np.zeros(240)
        for i in range(1, 240):
            noise[i] = 0.8 * noise[i - 1] + draw.normal()
        return tuple((30 + noise).tolist())

    calls = [row_of(with_wait(slow, wandering()), with_wait(slow, wandering()), "input wait").call for _ in range(100)]
    assert calls.count(Call.SIGNIFICANT) <= 6


def test_the_rank_test_agrees_with_known_values():
    # The exact probabilities of complete separation are 2 of all ways to choose: textbook values.
    assert mann_whitney_p(np.arange(5.0), np.arange(5.0) + 9) == pytest.approx(2 / 252)
    assert mann_whitney_p(np.array([1.0, 2, 4]), np.array([3.0, 5, 6])) == pytest.approx(4 / 20)
    a, b = np.array([1.0, 2, 3, 4, 5, 6, 7, 8]), np.array([5.0, 6, 7, 8, 9, 10, 11, 12])
    # All 12,870 ways, counted one by one.
    ranks = np.concatenate([[1, 2, 3, 4], np.repeat([5.5, 7.5, 9.5, 11.5], 2), [13, 14, 15, 16]])
    sums = [sum(chosen) for chosen in combinations(ranks, 8)]
    seen = abs(1 + 2 + 3 + 4 + 5.5 + 7.5 + 9.5 + 11.5 - 68)
    assert mann_whitney_p(a, b) == pytest.approx(sum(abs(each - 68) >= seen for each in sums) / len(sums))
    assert mann_whitney_p(a, a) == 1.0
    assert mann_whitney_p(np.ones(9), np.ones(9)) == 1.0
    assert mann_whitney_p(a, a + 100) == mann_whitney_p(a + 100, a) < 0.001
