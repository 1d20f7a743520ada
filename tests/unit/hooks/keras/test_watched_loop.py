"""Which run a loop gets."""

import pytest

pytest.importorskip("keras")

from feedwatch.hooks.keras.watched_loop import Watch
from feedwatch.settings import Settings

QUIET = Settings(console=False)


def test_without_a_directory_one_is_made_when_the_loop_begins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    watch = Watch([1, 2], None, QUIET)
    assert not list(tmp_path.iterdir())
    assert list(watch) == [1, 2]
    watch.close()
    assert (watch.log_dir / "feedwatch" / "report.json").exists()
    assert watch.log_dir.parent.name == "runs"


def test_two_directories_are_two_runs(tmp_path):
    first, second = Watch([1], tmp_path / "a", QUIET), Watch([1], tmp_path / "b", QUIET)
    list(first), list(second)
    assert first._run is not second._run
    first.close(), second.close()


def test_two_loaders_that_are_walked_together_feed_one_step(tmp_path):
    first, second = Watch([1, 2, 3], tmp_path, QUIET), Watch([4, 5, 6], tmp_path, QUIET)
    assert list(zip(first, second, strict=False)) == [(1, 4), (2, 5), (3, 6)]
    assert first._run is second._run
    assert first.close().steps.batches == 3


def test_the_data_keeps_its_length_and_its_attributes(tmp_path):
    class Data(list):
        name = "theirs"

    watch = Watch(Data([1, 2]), tmp_path, QUIET)
    assert len(watch) == 2
    assert watch.name == "theirs"
    with pytest.raises(AttributeError):
        watch.nothing  # noqa: B018
