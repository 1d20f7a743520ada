"""What goes wrong around a Lightning run: same exception to the user, a report with its status, the next fit works."""

import copy
import json
import os
import pickle
import signal
import warnings

import pytest

pytest.importorskip("lightning")

import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader

from feedwatch.errors import SettingError
from feedwatch.guard import FeedwatchWarning
from feedwatch.hooks.lightning import callback as callback_module
from feedwatch.hooks.lightning.callback import WatchedFit
from feedwatch.hooks.lightning.loops import Loops
from feedwatch.hooks.lightning.tap import Tap
from feedwatch.hooks.run import WatchedRun
from feedwatch.hooks.torch.loader import TrainLoaders
from feedwatch.lightning import FeedWatch
from feedwatch.model.report import Status
from feedwatch.session import Session
from tests.contract.lightning.cases import Case
from tests.contract.lightning.fitting import fit, left_behind
from tests.contract.lightning.models import NoisyItems, loader, variant
from tests.contract.lightning.scripts import run


def quietly(*args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outcome = fit(*args)
    ours = [str(each.message) for each in caught if issubclass(each.category, FeedwatchWarning)]
    return outcome, ours


def same_training(case, tmp_path, watch):
    bare, _ = quietly(case, pl, tmp_path / "bare", [])
    watched, said = quietly(case, pl, tmp_path / "watched", [watch])
    assert watched.trained == bare.trained
    for name, value in bare.weights.items():
        assert torch.equal(watched.weights[name], value)
    assert watched.next_draws == bare.next_draws
    assert type(watched.error) is type(bare.error)
    assert left_behind(watched.trainer) == []
    return said


OURS = [
    (Session, "open"),
    (Session, "hand_over"),
    (WatchedRun, "hand_over"),
    (WatchedRun, "mark"),
    (WatchedRun, "profile_with"),
    (WatchedFit, "install"),
    (WatchedFit, "batch_end"),
    (WatchedFit, "_look"),
    (WatchedFit, "_epoch_begins"),
    (WatchedFit, "_between_steps"),
    (WatchedFit, "_read_run"),
    (WatchedFit, "close"),
    (Tap, "install"),
    (Tap, "context_of"),
    (Tap, "quiet"),
    (Tap, "listen"),
    (Tap, "sample"),
    (Loops, "install"),
    (Loops, "_see"),
    (Loops, "_watch_first_batch"),
    (Loops, "_end_profiler_window"),
    (TrainLoaders, "see"),
    (TrainLoaders, "look_at"),
    (TrainLoaders, "read"),
    (TrainLoaders, "end"),
    (callback_module, "samples_in"),
    (callback_module, "time_loggers"),
]


@pytest.mark.lenient
@pytest.mark.parametrize(
    ("part", "method"), OURS, ids=[f"{part.__name__.rpartition('.')[2]}.{name}" for part, name in OURS]
)
def test_an_exception_in_our_own_code_reaches_nobody(part, method, tmp_path, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(part, method, broken)
    case = Case(val=True, trainer={"max_epochs": 2})
    said = same_training(case, tmp_path, FeedWatch(console=False))
    assert len(said) == len(set(said))  # one warning per cause and run


def test_the_next_fit_works_after_a_failed_one(tmp_path):
    watch = FeedWatch(console=False)

    def failing(self, batch, index):
        raise RuntimeError("broken")

    failed, _ = quietly(Case(model=lambda pl: variant(pl, training_step=failing)), pl, tmp_path, [watch])
    assert isinstance(failed.error, RuntimeError)
    assert watch.report.status is Status.FAILED
    done, _ = quietly(Case(), pl, tmp_path, [watch])
    assert done.error is None
    assert watch.report.status is Status.FINISHED
    assert watch.report.steps.batches == 8


class KilledItems(NoisyItems):
    def __getitem__(self, index):
        if index == 20:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


def test_a_killed_worker_gives_the_same_error_and_a_report(tmp_path):
    watch = FeedWatch(console=False)
    case = Case(lambda pl: DataLoader(KilledItems(), batch_size=4, num_workers=1))
    outcome, _ = quietly(case, pl, tmp_path, [watch])

    # torch itself races: its signal handler, its queue and its pipe each have an error of their own for this.
    assert isinstance(outcome.error, (RuntimeError, OSError, EOFError))
    assert "feedwatch" not in str(outcome.error)
    assert watch.report.status is Status.FAILED
    assert left_behind(outcome.trainer) == []


def test_an_unpicklable_collate_fails_as_it_does_without_us(tmp_path):
    def make(pl):
        return loader(num_workers=1, multiprocessing_context="spawn", collate_fn=lambda items: items)

    bare, _ = quietly(Case(make), pl, tmp_path, [])
    watched, _ = quietly(Case(make), pl, tmp_path, [FeedWatch(console=False)])

    assert type(watched.error) is type(bare.error)
    assert str(watched.error) == str(bare.error)
    assert left_behind(watched.trainer) == []


@pytest.mark.parametrize("name", ["on_run_start", "setup_data", "run"])
def test_a_lightning_without_a_name_we_wrap_switches_off_that_source_alone(name, tmp_path, monkeypatch):
    from feedwatch.hooks.lightning import loops

    def lacking(obj, attribute, *default):
        if attribute == name and default:
            return default[0]
        return getattr(obj, attribute, *default)

    monkeypatch.setattr(loops, "getattr", lacking, raising=False)
    watch = FeedWatch(console=False)
    said = same_training(Case(), tmp_path, watch)

    assert said
    assert all(f".{name}:" in each for each in said)
    assert watch.report.status is Status.FINISHED


@pytest.mark.parametrize(
    ("action", "phase"), [("train_dataloader_next", "input_wait"), ("run_training_batch", "compute")]
)
def test_an_action_that_is_no_longer_named_makes_its_phase_unknown(action, phase, tmp_path, monkeypatch):
    make = Tap.context_of
    monkeypatch.setattr(Tap, "context_of", lambda self, name: None if name.endswith(action) else make(self, name))
    watch = FeedWatch(console=False)
    case = Case(lambda pl: loader(160))
    said = same_training(case, tmp_path, watch)

    assert watch.report.steps.batches == 40
    assert watch.report.phases[phase] is None
    assert [action in each for each in said] == [True]


def test_a_callback_is_copied_and_pickled_before_and_after_a_fit(tmp_path):
    watch = FeedWatch(tmp_path, console=False)
    quietly(Case(), pl, tmp_path, [copy.deepcopy(watch)])
    quietly(Case(), pl, tmp_path, [pickle.loads(pickle.dumps(watch))])
    outcome, _ = quietly(Case(), pl, tmp_path, [watch])
    again = pickle.loads(pickle.dumps(watch))

    assert again.report == watch.report
    assert outcome.error is None


def test_a_directory_that_cannot_be_made_is_an_error_at_construction(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="cannot be made"):
        FeedWatch(tmp_path / "file" / "runs")
    with pytest.raises(SettingError, match="local directory"):
        FeedWatch("s3://bucket/runs")
    with pytest.raises(SettingError, match="profile"):
        FeedWatch(profile="sometimes")


def test_the_kill_switch_leaves_no_trace(tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDWATCH", "0")
    watch = FeedWatch(tmp_path / "never", console=False)
    outcome, said = quietly(Case(), pl, tmp_path / "root", [watch])

    assert outcome.error is None
    assert said == []
    assert watch.report is None
    assert not (tmp_path / "never").exists()
    assert not (tmp_path / "root" / "feedwatch").exists()


@pytest.mark.parametrize("flavour", ["lightning.pytorch", "pytorch_lightning"])
def test_one_variable_in_the_environment_watches_a_script_without_an_edit(flavour, tmp_path):
    body = "trainer(directory, []).fit(Model(), DataLoader(Items(), batch_size=4))"
    done = run(tmp_path, body, flavour, FEEDWATCH="1")

    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads((tmp_path / "feedwatch" / "report.json").read_text())
    assert report["steps"]["batches"] == 32
    assert "feedwatch report" in done.stderr
