"""Where a Keras run is written, with real TensorBoard callbacks that have not started."""

from pathlib import Path

import pytest

keras = pytest.importorskip("keras")

from feedwatch.hooks.keras import writer  # noqa: E402
from feedwatch.report.tensorboard import SummaryOutput  # noqa: E402


@pytest.fixture
def opened(monkeypatch):
    """Directories for which a run of our own would be opened."""
    seen = []
    monkeypatch.setattr("feedwatch.hooks.destination.own_run", seen.append)
    return seen


def tensorboard(where):
    return keras.callbacks.TensorBoard(str(where), profile_batch=0)


def test_a_directory_that_was_given_is_used(tmp_path, opened):
    place = writer.choose(tmp_path, [])
    assert place.log_dir == tmp_path
    assert opened == [tmp_path / "feedwatch"] == [place.destination.directory]


def test_without_one_the_run_of_the_tensorboard_callback_is_used(tmp_path, opened):
    place = writer.choose(None, [keras.callbacks.History(), tensorboard(tmp_path)])
    assert place.log_dir == tmp_path
    assert place.destination.directory == tmp_path / "feedwatch"
    (output,) = place.destination.outputs
    assert isinstance(output, SummaryOutput)
    assert opened == []


def test_a_given_directory_that_is_the_callbacks_own_gets_no_second_event_file(tmp_path, opened, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert writer.choose(Path("runs/a"), [tensorboard(tmp_path / "runs" / "a")]).log_dir == tmp_path / "runs" / "a"
    assert opened == []


def test_another_given_directory_goes_before_the_callbacks_run(tmp_path, opened):
    assert writer.choose(tmp_path / "ours", [tensorboard(tmp_path / "theirs")]).log_dir == tmp_path / "ours"
    assert opened == [tmp_path / "ours" / "feedwatch"]


def test_a_remote_run_is_written_through_the_callback_only(opened):
    place = writer.choose(None, [tensorboard("gs://bucket/run")])
    assert place.log_dir is None
    assert place.destination.directory is None
    assert opened == []


def test_f82_without_anything_every_run_gets_a_directory_of_its_own(opened, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    places = [writer.choose(None, []).log_dir for _ in range(5)]
    assert all(str(place).startswith("runs/keras-") for place in places)
    assert len(set(places)) == len(opened) == 5
