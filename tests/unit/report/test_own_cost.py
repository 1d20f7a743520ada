"""What feedwatch says of itself: the training thread per step, and everything as a share of the time."""

import pytest

from feedwatch.report.build import OwnCost
from tests.fakes.reports import report

MS = 1_000_000


def test_the_share_is_that_of_the_training_thread_and_of_the_sinks_thread_together():
    alone = report(own=OwnCost(20_000.0, 0, 0), wall_ms=10).self_cost
    assert alone.overhead_ratio == pytest.approx(0.002)
    assert alone.us_per_step == 20.0
    measured_ns = report(wall_ms=10).steps.measured * 10 * MS
    together = report(own=OwnCost(20_000.0, round(0.003 * measured_ns), 0), wall_ms=10).self_cost
    assert together.overhead_ratio == pytest.approx(0.005)
    assert together.us_per_step == 20.0


def test_a_cost_that_was_not_measured_is_not_zero():
    unknown = report(own=OwnCost(None, 0, 0)).self_cost
    assert unknown.overhead_ratio is None
    assert unknown.us_per_step is None
