"""A loop of one's own, with torch's real DataLoader."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from feedwatch.errors import SettingError
from feedwatch.model.report import Status
from feedwatch.model.verdict import Bound
from feedwatch.report.load import load_run
from feedwatch.torch import FeedWatch

ROOT = Path(__file__).parents[4]


class Items(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        return torch.full((3,), float(index)), index


@pytest.fixture
def loader():
    return DataLoader(Items(), batch_size=4, shuffle=True)


def train(batches, seed=1):
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for _ in range(2):
        for values, _ in batches:
            optimizer.zero_grad()
            model(values).mean().backward()
            optimizer.step()
    return [parameter.detach().clone() for parameter in model.parameters()], torch.rand(2)


@pytest.mark.parametrize("workers", [0, 2])
def test_weights_and_the_next_random_draw_are_the_same_with_and_without(tmp_path, workers):
    def loader():
        return DataLoader(Items(), batch_size=4, shuffle=True, num_workers=workers)

    bare = train(loader())
    with FeedWatch(tmp_path, console=False) as watch:
        watched = train(watch(loader()))
    for plain, ours in zip(bare[0], watched[0], strict=True):
        assert torch.equal(plain, ours)
    assert torch.equal(bare[1], watched[1])
    assert watch.report.steps.batches == 20
    assert watch.report.steps.samples == 80


def test_the_loader_is_given_back_as_it_was(tmp_path, loader):
    before = dict(vars(loader))
    with FeedWatch(tmp_path, console=False) as watch:
        list(watch(loader))
    assert vars(loader) == before


def test_what_is_iterated_has_the_loaders_length_and_attributes(tmp_path, loader):
    watch = FeedWatch(tmp_path, console=False)
    batches = watch(loader)
    assert len(batches) == 10
    assert batches.batch_size == 4
    assert batches.dataset is loader.dataset


def test_a_break_ends_the_epoch_and_the_next_one_begins(tmp_path, loader):
    with FeedWatch(tmp_path, console=False) as watch:
        for _ in range(3):
            for number, _ in enumerate(watch(loader)):
                if number == 4:
                    break
    report = watch.report
    assert report.steps.batches == 15
    assert report.epoch_boundary.count == 2


def test_the_users_error_is_the_same_object_and_the_report_says_failed(tmp_path, loader):
    error = ValueError("theirs")
    watch = FeedWatch(tmp_path, console=False)

    def loop():
        with watch:
            for number, _ in enumerate(watch(loader)):
                if number == 3:
                    raise error

    with pytest.raises(ValueError, match="theirs") as caught:
        loop()
    assert caught.value is error
    assert watch.report.status is Status.FAILED
    assert watch.report.steps.batches == 3


def test_a_loader_that_raises_passes_its_own_error_on(tmp_path):
    def broken():
        yield torch.zeros(2, 3)
        raise KeyError("theirs")

    watch = FeedWatch(tmp_path, console=False)
    with pytest.raises(KeyError, match="theirs"):
        list(watch(broken()))
    assert watch.close(Status.FAILED).steps.batches == 1


def test_an_empty_loader_is_no_run_that_could_be_judged(tmp_path):
    with FeedWatch(tmp_path, console=False) as watch:
        assert list(watch([])) == []
    assert watch.report.verdict.bound is Bound.UNKNOWN


@pytest.mark.parametrize("wrong", [3, None, object()])
def test_something_that_cannot_be_iterated_is_one_clear_error(tmp_path, wrong):
    with pytest.raises(SettingError, match="something to iterate over"):
        FeedWatch(tmp_path, console=False)(wrong)


def test_a_watch_that_is_closed_is_not_used_again(tmp_path, loader):
    with FeedWatch(tmp_path, console=False) as watch:
        list(watch(loader))
    with pytest.raises(SettingError, match="closed"):
        watch(loader)


def test_the_kill_switch_hands_the_loader_back_untouched(tmp_path, loader, monkeypatch):
    monkeypatch.setenv("FEEDWATCH", "0")
    assert FeedWatch(tmp_path / "none", console=False)(loader) is loader
    assert not (tmp_path / "none").exists()


def test_a_script_that_ends_without_close_has_finished(tmp_path):
    script = textwrap.dedent("""
        import sys
        from feedwatch.torch import FeedWatch
        watch = FeedWatch(sys.argv[1], console=False)
        for batch in watch([[1, 2], [3, 4]]):
            pass
    """)
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, check=True, timeout=120)
    report = load_run(tmp_path / "feedwatch")
    assert report.status is Status.FINISHED
    assert report.steps.batches == 2
