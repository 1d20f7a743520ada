"""A fit's clock readings become figures."""

import pytest

from benchmarks.stopwatch import WARM_STEPS, figures, mean_figures

MS = 1_000_000


def readings(steps, step_ms=2, slow=None):
    wall = 0
    made = []
    for step in range(steps):
        made.append((wall, wall // 2, wall // 4))
        wall += 50 * MS if step == slow else step_ms * MS
    return made


def test_the_warm_up_is_not_in_the_figures_per_step():
    seen = figures([readings(WARM_STEPS + 11, slow=5)], fit_seconds=1.0)
    assert seen["wall_us"] == pytest.approx(2000)
    assert seen["thread_cpu_us"] == pytest.approx(1000)
    assert seen["process_cpu_us"] == pytest.approx(500)


def test_what_happens_once_in_a_while_is_in_the_mean_and_not_in_the_median():
    seen = figures([readings(WARM_STEPS + 11, slow=WARM_STEPS + 5)], fit_seconds=1.0)
    assert seen["wall_us"] == pytest.approx(2000 + 48_000 / 10)
    assert seen["median_wall_us"] == pytest.approx(2000)


def test_what_a_fit_takes_besides_its_usual_steps_is_told_apart():
    steps = WARM_STEPS + 11
    usual_s = 0.002 * (steps - 1)
    assert figures([readings(steps)], fit_seconds=usual_s + 0.03)["once_ms"] == pytest.approx(30)


def test_what_lies_between_two_turns_is_in_no_figure():
    turns = [readings(WARM_STEPS // 2 + 1, step_ms=9), readings(WARM_STEPS + 1), [], readings(11)]
    turns[2] = [(wall + 10**12, cpu, busy) for wall, cpu, busy in readings(6, step_ms=4)]
    seen = figures(turns, fit_seconds=1.0)
    steady = WARM_STEPS // 2 * 2000 + 5 * 4000 + 10 * 2000
    assert seen["wall_us"] == pytest.approx(steady / (WARM_STEPS // 2 + 5 + 10))
    assert seen["median_wall_us"] == pytest.approx(2000)


def test_two_fits_that_swapped_their_parts_are_one_figure():
    assert mean_figures([{"wall_us": 10.0, "once_ms": 1.0}, {"wall_us": 14.0, "once_ms": 3.0}]) == {
        "wall_us": 12.0,
        "once_ms": 2.0,
    }
