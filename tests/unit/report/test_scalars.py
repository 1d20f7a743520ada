"""The numbers of one window under their TensorBoard tags."""

import pytest

from feedwatch.model.report import SelfSection
from feedwatch.report.scalars import DESCRIPTIONS, scalars
from tests.fakes.reports import course

LITTLE = SelfSection(overhead_ratio=0.001, us_per_step=10.0, profiler_windows=0, dropped_windows=0)


def test_every_tag_carries_the_mean_of_the_window():
    window = course(wall_ms=10, wait_ms=4, h2d_ms=1, compute_ms=3).run()
    assert scalars(window, LITTLE) == pytest.approx(
        {
            "feedwatch/stall_ratio": 0.4,
            "feedwatch/step_ms": 10.0,
            "feedwatch/input_wait_ms": 4.0,
            "feedwatch/h2d_ms": 1.0,
            "feedwatch/compute_ms": 3.0,
            "feedwatch/other_ms": 2.0,
            "feedwatch/samples_per_s": 3200.0,
            "feedwatch/self/overhead_ratio": 0.001,
        }
    )


def test_every_tag_is_described_on_its_card():
    window = course(wall_ms=10, wait_ms=4, h2d_ms=1, compute_ms=3).run()
    assert set(scalars(window, LITTLE)) == set(DESCRIPTIONS)


def test_what_was_not_measured_has_no_point_on_the_curve():
    window = course(wall_ms=10, wait_ms=None, h2d_ms=None, compute_ms=3, samples=None).run()
    unknown = SelfSection(None, None, 0, 0)
    assert set(scalars(window, unknown)) == {"feedwatch/step_ms", "feedwatch/compute_ms"}
