"""How the comparison of trials with retraining is scored."""

import pytest

from benchmarks.trials.score import Row, page, quantile
from benchmarks.trials.truth import Stopwatch, stopwatch
from benchmarks.trials.workloads import CASES, Case


def row(turns=(2.0, 2.1, 1.9), low=1.9, high=2.2, **more):
    told = {"drained": 3.0, "outcome": "faster", **more}
    return Row("storage", "torch", "num_workers=2", turns, low, high, **told)


def entry(*rows, **more):
    trial = {
        "seconds": 20.0, "notes": [], "picked": "num_workers=2",
        "rows": [{"name": "num_workers=2", "settings": {"num_workers": 2}}],
    }  # fmt: skip
    return {
        "date": "2026-01-02",
        "machine": "a CPU, 2 CPUs",
        "trial": trial,
        "rows": [vars(each) for each in rows],
    } | more


def test_truth_is_the_median_of_turns_and_the_interval_holds_it_or_not():
    held = row()
    assert (held.truth, held.holds) == (2.0, True)
    assert held.error == pytest.approx(0.0223, abs=0.001)
    assert held.drain_error == pytest.approx(0.5)
    assert held.truth_error == pytest.approx(0.051, abs=0.001)
    assert not row(turns=(2.5,)).holds
    assert row(turns=(2.5,)).truth_error is None


def test_a_missed_bar_is_said():
    text = page({"torch: storage": entry(row(turns=(4.0,)))})
    assert "| error, median | 48.9% | 25.0% | ≤ 3 % | **missed** |" in text
    assert "| comparisons | 1 | 1 | ≥ 40 | **missed** |" in text
    assert "2026-01-02 on a CPU, 2 CPUs" in text
    assert "other processes" not in text


def test_what_was_picked_stands_beside_the_grid():
    grid = {"now": 0, "gains": {"0": 1.0, "1": 1.5, "2": 2.0, "3": 2.02}, "seconds": 100.0}
    assert "| torch: storage | 2 | 99% | 2 | 20 s | 100 s |" in page({"torch: storage": entry(row(), grid=grid)})


def test_quantiles_are_values_that_were_measured():
    assert quantile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.0
    assert quantile([1.0], 0.9) == 1.0


def test_a_cache_is_full_before_the_clock_is_read():
    case = Case("a", "keras", items=800)
    assert stopwatch(case, {"cache": 1})._warm_steps == stopwatch(case, {})._warm_steps + 100


def test_the_stopwatch_leaves_the_warm_up_out(monkeypatch):
    now = iter([0.0, 5.0, 5.1, 5.2] + [5.2 + 0.1 * number for number in range(1, 40)])
    monkeypatch.setattr("time.perf_counter", lambda: next(now))
    watch = Stopwatch(2, 0.5, batches=2)
    while not watch():
        pass
    assert watch.step_ms == pytest.approx(50.0)


def test_every_script_has_a_name_of_its_own():
    assert len({(case.framework, case.name) for case in CASES}) == len(CASES)
