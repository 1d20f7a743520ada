"""Construction: wrong settings raise there, nothing is alive before a fit."""

import copy
import pickle

import pytest

keras = pytest.importorskip("keras")

from feedwatch.errors import SettingError  # noqa: E402
from feedwatch.keras import FeedWatch  # noqa: E402


def test_a_log_dir_that_cannot_be_made_raises_at_construction(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="cannot be made"):
        FeedWatch(tmp_path / "file" / "run")


def test_a_remote_log_dir_raises_at_construction():
    with pytest.raises(SettingError, match="local directory"):
        FeedWatch("gs://bucket/run")


def test_wrong_settings_raise_at_construction(tmp_path):
    with pytest.raises(SettingError, match="profile"):
        FeedWatch(tmp_path, profile="always")


def test_copies_carry_the_settings(tmp_path):
    ours = FeedWatch(tmp_path, console=False)
    for twin in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert twin.log_dir == tmp_path
        assert twin.report is None


def test_asynchronous_dispatch_is_kept():
    assert FeedWatch.async_safe is True


def test_hooks_before_a_fit_do_nothing(tmp_path):
    ours = FeedWatch(tmp_path)
    ours.on_train_batch_begin(0)
    ours.on_train_batch_end(0)
    ours.on_epoch_begin(0)
    ours.on_epoch_end(0)
    ours.on_train_end()
    assert ours.report is None


def test_the_kill_switch_makes_no_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDWATCH", "0")
    ours = FeedWatch(tmp_path / "run")
    ours.on_train_begin()
    assert not (tmp_path / "run").exists()
