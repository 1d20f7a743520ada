"""How the demo is told, with trainings that take no time."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from feedwatch.demo.story import comparison, tell
from feedwatch.model.verdict import Basis, Finding, Fix, Gain
from tests.fakes.reports import report
from tests.fakes.trials import row, section

FINDING = Finding(
    "FW101", "n", "Set num_workers=4", "why", {}, Fix("", "x"), Gain(1.5, 2.5, Basis.PREDICTED, "because")
)


class Chapter:
    title = "A framework"
    steps = 3

    def __init__(self, *reports):
        self._reports = list(reports)
        self.trained = []
        self.tried = None  # the report of a trial

    def train(self, log_dir, applied, tick, *, trial=False):
        if trial:
            return self.tried
        self.trained.append((log_dir.name, applied))
        for _ in range(self.steps):
            tick()
        return self._reports.pop(0)


@pytest.fixture
def console():
    return Console(file=io.StringIO(), width=120)


def slow():
    return replace(report(wall_ms=20, wait_ms=10, compute_ms=10), findings=(FINDING,))


def fast():
    return replace(report(wall_ms=10, wait_ms=1, compute_ms=9), findings=())


def test_the_first_finding_is_applied_and_the_reached_gain_stands_beside_the_predicted_one(console, tmp_path):
    chapter = Chapter(slow(), fast())
    outcome = tell(chapter, tmp_path, console)
    assert chapter.trained == [("before", None), ("after", FINDING)]
    assert outcome.reached == pytest.approx(2.0)
    assert "1.5–2.5× faster, predicted · reached 2× faster" in console.file.getvalue()


def test_a_machine_that_is_fast_enough_is_told_so(console, tmp_path):
    assert tell(Chapter(fast()), tmp_path, console) is None
    told = " ".join(console.file.getvalue().split())
    assert "Where a step goes" in told
    assert "nothing to apply here" in told


@pytest.mark.parametrize("reports", [(None,), (slow(), None)])
def test_a_training_without_a_report_ends_the_story(console, tmp_path, reports):
    assert tell(Chapter(*reports), tmp_path, console) is None


def test_an_unknown_gain_is_not_measured(console, tmp_path):
    unknown = report(wall_ms=20, wait_ms=10, samples=None)
    unknown = replace(unknown, verdict=replace(unknown.verdict, step_ms=None, samples_per_s=None), findings=(FINDING,))
    outcome = tell(Chapter(unknown, fast()), tmp_path, console)
    assert outcome.reached is None
    assert "reached" not in console.file.getvalue()
    console.print(comparison(outcome))
    assert "not measured" in console.file.getvalue()


def test_it_ends_with_a_trial_of_its_own_advice(tmp_path, console):
    chapter = Chapter(slow(), fast())
    chapter.tried = replace(slow(), trial=section(row(), picked="num_workers=2"))
    tell(chapter, tmp_path, console)
    said = console.file.getvalue()
    assert said.index("Before and after") < said.index("Use num_workers=2: 1.9–2.1× faster, measured")
    assert "can gain more than 2.3×" in said
