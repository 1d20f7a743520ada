"""Errors against the truth; what was not measured is no error of zero."""

import pytest

from benchmarks.accuracy import error_ms, errors, methods
from benchmarks.bystander_clocks import BatchTimes
from benchmarks.scenes import WARM, Scene, extras, grid, mean

SCENES = [
    {
        "scene": "first",
        "truth": {"input": 10.0, "compute": 5.0, "copy": None},
        "said": {"ours": {"input": 10.5, "compute": 5.0, "copy": 0.1}, "theirs": None},
    },
    {
        "scene": "second",
        "truth": {"input": 30.0, "compute": 5.0, "copy": None},
        "said": {"ours": {"input": 28.0, "compute": 5.0, "copy": None}, "theirs": {"input": None, "compute": 6.0}},
    },
]


def test_an_error_has_a_sign_and_a_worst_scene():
    assert error_ms(SCENES[1], "ours", "input") == pytest.approx(-2)
    seen = errors(SCENES, "ours", "input")
    assert (seen.scenes, seen.worst_ms, seen.worst_scene) == (2, pytest.approx(2), "second")
    assert seen.median_ms == pytest.approx(1.25)


def test_a_method_that_said_nothing_has_no_error():
    assert errors(SCENES, "theirs", "input") is None
    assert errors(SCENES, "theirs", "compute").scenes == 1


def test_a_phase_without_truth_has_no_error():
    assert errors(SCENES, "ours", "copy") is None


def test_all_methods_are_found():
    assert methods(SCENES) == ["ours", "theirs"]


def test_the_grid_has_every_combination_once():
    assert len({scene.name for scene in grid()}) == 18
    assert [scene.extra for scene in extras("slow copy")] == ["validation", "checkpoints", "slow callback", "slow copy"]


def test_short_steps_are_measured_more_often():
    assert Scene(2.0, 0.0).steps(2.0) > Scene(30.0, 20.0).steps(2.0) > WARM


def test_a_mean_leaves_the_warm_up_out():
    assert mean([1000.0] * WARM + [1.0, 3.0]) == 2
    assert mean([1000.0]) is None


def test_gap_and_residual_blame_what_stands_between_two_batches(monkeypatch):
    now = iter(value / 1000 for at in range(8) for value in (at * 20.0, at * 20.0 + 12.0))
    monkeypatch.setattr("time.perf_counter", lambda: next(now))
    times = BatchTimes(lambda: [9.0] * 8)
    for _ in range(8):
        times.begin()
        times.end()
    assert times.gap() == {"input": pytest.approx(8), "compute": pytest.approx(12)}
    assert times.residual() == {"input": pytest.approx(11), "compute": None}
