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


@pytest.mark.parametrize("way", ["training", "validation"])
def test_the_loaders_own_draw_is_made_when_its_iterator_is(tmp_path, loader, way):
    def draws(loader):
        torch.manual_seed(5)
        batches = iter(loader)
        between = torch.rand(2)
        return torch.cat([between, *(values.flatten() for values, _ in batches), torch.rand(2)])

    plain = draws(loader)
    with FeedWatch(tmp_path, console=False) as watch:
        list(watch(loader))
        assert torch.equal(plain, draws(watch(loader) if way == "training" else watch.validation(loader)))


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


def test_a_device_that_torch_does_not_know_is_one_clear_error(tmp_path):
    with pytest.raises(SettingError, match="'nonsense' is no device"):
        FeedWatch(tmp_path, device="nonsense")


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_device_that_is_not_there_is_one_clear_error_at_the_call(tmp_path, monkeypatch):
    with pytest.raises(SettingError, match="device 'cuda:0' is not there"):
        FeedWatch(tmp_path, device=torch.device("cuda:0"))
    monkeypatch.setenv("FEEDWATCH", "0")
    FeedWatch(tmp_path, device="cuda")


@pytest.mark.parametrize("workers", [0, 2])
def test_what_a_batch_takes_is_known_with_and_without_workers(tmp_path, workers):
    with FeedWatch(tmp_path, console=False) as watch:
        for _ in range(3):
            list(watch(DataLoader(Items(), batch_size=2, num_workers=workers)))
    loader = watch._run.session.facts.pipeline.loader
    assert loader.load_ms > 0
    assert (loader.ready_share is None) == (workers == 0)


def test_two_watches_on_one_loader_do_not_meet(tmp_path, loader):
    before = dict(vars(loader))
    with FeedWatch(tmp_path / "a", console=False) as outer, FeedWatch(tmp_path / "b", console=False) as inner:
        assert len(list(outer(inner(loader)))) == 10
    assert outer.report.steps.batches == inner.report.steps.batches == 10
    assert vars(loader) == before


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


@pytest.mark.parametrize(
    ("ending", "status"),
    [("", Status.FINISHED), ("raise KeyboardInterrupt", Status.INTERRUPTED), ("raise OSError", Status.FAILED)],
)
def test_a_script_that_holds_its_iterator_to_the_end_ends_as_it_did(tmp_path, ending, status):
    script = textwrap.dedent(f"""
        import sys
        from feedwatch.torch import FeedWatch
        watch = FeedWatch(sys.argv[1], console=False)
        batches = iter(watch([[1, 2], [3, 4], [5, 6]]))
        next(batches), next(batches)
        {ending}
    """)
    subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, check=False, timeout=120, capture_output=True
    )
    assert load_run(tmp_path / "feedwatch").status is status


def test_a_directory_is_needed(tmp_path):
    with pytest.raises(SettingError, match="log_dir"):
        FeedWatch(None)
