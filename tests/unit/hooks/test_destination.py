from pathlib import Path

import pytest

from feedwatch.errors import SettingError
from feedwatch.hooks.destination import checked_log_dir, is_remote, new_home, own_destination


def test_without_a_log_dir_there_is_nothing_to_check():
    assert checked_log_dir(None) is None


def test_the_directory_is_made_and_nothing_is_left_in_it(tmp_path):
    made = checked_log_dir(str(tmp_path / "a" / "b"))
    assert made == tmp_path / "a" / "b"
    assert list(made.iterdir()) == []


def test_a_tilde_is_the_users_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert checked_log_dir("~/runs") == tmp_path / "runs"


@pytest.mark.parametrize("log_dir", ["gs://bucket/run", "s3://bucket", Path("gs://bucket/run"), "file:///tmp/run"])
def test_a_url_is_refused_also_as_a_path(log_dir):
    with pytest.raises(SettingError, match="local directory"):
        checked_log_dir(log_dir)


def test_a_windows_drive_and_a_colon_in_a_name_are_local():
    assert not is_remote("C:/runs")
    assert not is_remote("runs/12:30/a")


def test_a_file_in_the_way_cannot_be_made_a_directory(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="cannot be made"):
        checked_log_dir(tmp_path / "file" / "run")


@pytest.mark.skipif(
    not Path("/sys/kernel").is_dir(), reason="needs a directory in which nobody may write, root neither"
)
def test_a_directory_in_which_nothing_can_be_written_is_an_error_before_the_first_step():
    with pytest.raises(SettingError, match="not writable"):
        checked_log_dir("/sys/kernel")


def test_switched_off_nothing_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDWATCH", "0")
    assert checked_log_dir(tmp_path / "run") == tmp_path / "run"
    assert not (tmp_path / "run").exists()


def test_our_own_run_is_a_directory_below_the_users(tmp_path):
    place = own_destination(tmp_path)
    assert place.directory == tmp_path / "feedwatch"
    assert len(place.outputs) == 1


def test_a_new_home_is_nobody_elses(tmp_path):
    homes = [new_home(tmp_path / "runs" / "a") for _ in range(3)]
    assert [home.name for home in homes] == ["a", "a-2", "a-3"]
    assert all(home.is_dir() for home in homes)


def test_where_nothing_can_be_made_the_run_goes_on_without(tmp_path):
    (tmp_path / "file").write_text("")
    assert new_home(tmp_path / "file" / "a") == tmp_path / "file" / "a"


@pytest.mark.parametrize("name", ["nul\0x", "surrogate\ud800"])
def test_f90_a_name_that_no_directory_can_have_is_a_wrong_setting(tmp_path, name):
    with pytest.raises(SettingError, match="cannot be made"):
        checked_log_dir(tmp_path / name)


@pytest.mark.parametrize("log_dir", [3, b"runs", ["runs"]])
def test_what_is_no_path_is_refused_by_name(log_dir):
    with pytest.raises(SettingError, match="log_dir must be the path of a directory, not"):
        checked_log_dir(log_dir)
