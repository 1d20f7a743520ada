"""Before and after a change: differences, and noise that is none."""

from dataclasses import replace

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


def test_seven_windows_are_too_few_to_tell(slow, faster):
    short = with_wait(faster, faster.series.input_wait[:7])
    assert row_of(slow, short, "input wait").call is Call.TOO_FEW
    assert row_of(slow, with_wait(faster, faster.series.input_wait[:8]), "input wait").call is Call.SIGNIFICANT


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
    # the first as scipy.stats.mannwhitneyu(a, b, method="asymptotic") gives it
    a, b = np.array([1.0, 2, 3, 4, 5, 6, 7, 8]), np.array([5.0, 6, 7, 8, 9, 10, 11, 12])
    assert mann_whitney_p(a, b) == pytest.approx(0.013313002763816655)
    assert mann_whitney_p(a, a) == 1.0
    assert mann_whitney_p(np.ones(9), np.ones(9)) == 1.0
    assert mann_whitney_p(a, a + 100) == mann_whitney_p(a + 100, a) < 0.001
