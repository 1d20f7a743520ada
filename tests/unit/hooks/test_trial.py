"""A loop on a fake clock becomes a trial; the frameworks' own are in tests/contract/test_trials.py."""

import sys

import pytest

from feedwatch.hooks.destination import own_destination
from feedwatch.hooks.run import WatchedRun
from feedwatch.hooks.sources import Batches
from feedwatch.hooks.trial import SEVERAL_RANKS, Screen, TrialRun, neighbours, only_as_it_is, trial_home
from feedwatch.measure.steps import Ends, StepReader
from feedwatch.model.facts import HostFacts, RunFacts
from feedwatch.model.report import Status
from feedwatch.model.trial import Ended
from feedwatch.settings import Settings, TrialWish
from feedwatch.trial.board import TrialOver
from tests.fakes.clock import FakeClock


class Bench:
    def __init__(self, directory, wish=None, **facts):
        self.clock = FakeClock()
        told = {"framework": "none", "version": "1", "backend": "none", "device": "cpu", **facts}
        settings = Settings(console=False, trial=wish or TrialWish(10))
        self.run = WatchedRun(
            RunFacts(**told), settings, own_destination(directory), StepReader(ends=Ends.NEXT), self.clock
        )
        self.trial = TrialRun(self.run, settings.trial)

    def begin(self, make=None):
        def plan(_):
            return only_as_it_is(Batches(lambda: iter(range(10**6))), "nothing to change")

        self.trial.begin(make or plan)

    def train(self):
        while True:
            self.trial.next()
            self.clock.advance_ms(10)

    @property
    def section(self):
        return self.run.report.trial


def test_it_is_due_after_warm_up_and_a_window_and_enough_steps(tmp_path):
    bench = Bench(tmp_path)
    due = []
    for _ in range(400):
        bench.clock.advance_ms(10)
        due.append(bench.trial.due())
    first = due.index(True)
    assert 140 < first < 160
    bench.run.close(Status.FINISHED)


def test_the_end_of_the_data_makes_it_due(tmp_path):
    bench = Bench(tmp_path)
    assert bench.trial.due(data_ends=True)
    bench.run.close(Status.FINISHED)


def test_it_ends_the_script_with_a_written_report(tmp_path):
    bench = Bench(tmp_path)
    bench.begin()
    with pytest.raises(TrialOver):
        bench.train()
    assert bench.run.closed
    assert bench.section.ended is Ended.DECIDED
    assert bench.section.notes == ("nothing to change",)
    assert [row.name for row in bench.section.rows] == ["as it is", "one cached batch"]
    assert (tmp_path / "feedwatch" / "report.json").exists()


def test_interrupted_it_keeps_what_is_known(tmp_path):
    bench = Bench(tmp_path)
    bench.begin()
    for _ in range(100):
        bench.trial.next()
        bench.clock.advance_ms(10)
    bench.run.close(Status.INTERRUPTED)
    assert bench.section.ended is Ended.INTERRUPTED
    assert bench.section.as_is.blocks == 1


def test_a_training_that_ends_first_says_so(tmp_path):
    bench = Bench(tmp_path)
    with pytest.raises(TrialOver):
        bench.trial.over()
    assert bench.section.ended is Ended.NOT_BEGUN
    assert "ended before the trial began" in bench.section.notes[0]


def test_several_ranks_are_refused(tmp_path):
    bench = Bench(tmp_path, world_size=2)
    with pytest.raises(TrialOver):
        bench.begin()
    assert bench.section.notes == (SEVERAL_RANKS,)


def test_variants_that_cannot_be_made_end_it_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.delenv("FEEDWATCH_STRICT", raising=False)
    bench = Bench(tmp_path)

    def fail(_):
        raise ValueError("odd loader")

    with pytest.raises(TrialOver), pytest.warns(UserWarning, match="odd loader"):
        bench.begin(fail)
    assert bench.section.notes == ("no variant could be made: ValueError: odd loader",)


def test_neighbours_are_said(tmp_path):
    assert neighbours(HostFacts()) == 0.0
    assert neighbours(HostFacts(machine_cpu_share=0.0, cpu_used=1.0)) == 0.0
    bench = Bench(tmp_path)
    bench.run.session.update(host=HostFacts(machine_cpu_share=1.0, cpu_used=-2.0))
    bench.begin()
    with pytest.raises(TrialOver):
        bench.train()
    assert any("other processes used" in note for note in bench.section.notes)


def test_it_writes_into_a_directory_of_its_own(tmp_path):
    assert trial_home(TrialWish(directory="there"), tmp_path).name == "there"
    assert trial_home(TrialWish(), tmp_path / "a") == tmp_path / "a-trial"
    assert trial_home(TrialWish(), None).parent.name == "runs"


def test_the_first_line_says_that_the_weights_are_thrown_away(capsys):
    Screen(60, console=True).say("x")
    assert capsys.readouterr().err == "x\n"
    Screen(60, console=False).say("x")
    assert capsys.readouterr().err == ""


def test_the_scripts_own_output_is_silent_while_it_runs(capsys):
    screen, before = Screen(60, console=True), sys.stdout
    screen.open()
    print("loss 0.5")
    screen.close()
    assert sys.stdout is before
    assert "loss" not in capsys.readouterr().out
