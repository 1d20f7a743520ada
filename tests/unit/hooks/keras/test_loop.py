"""The call; loops are in tests/contract/keras/run_own_loops.py."""

import pytest

pytest.importorskip("keras")

from feedwatch.errors import SettingError
from feedwatch.hooks.keras.loop import watch


def test_the_arguments_are_checked_at_the_call(tmp_path):
    with pytest.raises(SettingError, match="start_step"):
        watch([1], tmp_path, start_step=-1)
    with pytest.raises(SettingError, match="console"):
        watch([1], tmp_path, console="yes")


def test_the_kill_switch_gives_plain_batches_and_makes_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDWATCH", "0")
    with watch([1, 2, 3], tmp_path / "none") as batches:
        assert list(batches) == [1, 2, 3]
    assert batches.report is None
    assert not (tmp_path / "none").exists()
