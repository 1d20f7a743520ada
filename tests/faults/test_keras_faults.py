"""What goes wrong around a Keras fit: the rows of keras_rows.py, each in a process of its own, on every backend."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def plays(backend):
    return pytest.param(backend, marks=pytest.mark.plays("keras_rows", f"keras-{backend}"))


BACKENDS = [plays(backend) for backend in ("tensorflow", "torch", "jax")]
TENSORFLOW = BACKENDS[:1]


def a_row(test):
    for mark in (pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(900)):
        test = mark(test)
    return test


def _environment(**more):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("FEEDWATCH")}
    paths = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    return kept | {"PYTHONPATH": paths, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""} | more


@pytest.fixture
def played(backend, answers):
    """What the row of this name found on this backend."""

    def result_of(name):
        result = dict(answers("keras_rows", f"keras-{backend}")[0][name])
        assert "row" not in result, result.get("row")
        assert result.pop("exit") == 0
        return result

    return result_of


@a_row
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_between_two_epochs_arrives_as_the_same_object_and_the_report_says_how_it_ended(played):
    result = played("an_error_at_epoch_end")
    assert result["same_object"]
    assert result["status"] == result["on_disk"] == "failed"
    assert result["batches"] == 8
    assert result["next_fit"]


@a_row
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_of_the_model_is_a_failed_run_and_nothing_is_left_on_the_model(played):
    result = played("the_model_raises")
    assert result["same_object"]
    assert result["status"] == result["on_disk"] == "failed"
    assert result["batches"] == 6
    assert result["nothing_left"]


@a_row
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_that_a_callback_catches_itself_ends_nothing(played):
    result = played("an_error_that_a_callback_catches_itself")
    assert result["status"] == "finished"
    assert result["batches"] == 8


@a_row
@pytest.mark.parametrize("backend", TENSORFLOW)
def test_a_dataset_that_raises_gives_the_error_it_gives_without_us(played):
    result = played("the_dataset_raises")
    assert result["caught"] == result["plain"]
    assert result["on_disk"] == "failed"
    assert result["next_fit"]


@a_row
@pytest.mark.parametrize("backend", BACKENDS)
def test_data_that_ends_early_is_a_finished_run(played):
    assert played("data_that_ends_early") == {
        "status": "finished",
        "on_disk": "finished",
        "caught": None,
        "batches": 7,
    }


@a_row
@pytest.mark.parametrize("backend", TENSORFLOW)
def test_empty_data_behaves_as_without_us(played):
    result = played("empty_data")
    assert result["plain"] == result["watched"]
    assert result["batches"] == 0


@a_row
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "name",
    [
        "a_fit_nested_in_ours_with_a_callback_of_its_own",
        "the_same_callback_in_a_nested_fit",
        "the_same_callback_in_a_nested_fit_that_raises",
    ],
)
def test_a_nested_fit_does_not_disturb_the_outer_one(played, name):
    result = played(name)
    assert result["status"] == "finished"
    assert result["batches"] == 16


@a_row
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_second_callback_stays_passive_and_says_so_once(played):
    result = played("two_callbacks_in_one_fit")
    assert result["batches"] == 8
    assert result["second"]
    assert len(result["said"]) == 1


@a_row
@pytest.mark.parametrize("backend", BACKENDS)
def test_two_fits_in_two_threads_are_two_runs(played):
    each = played("two_fits_in_two_threads")["each"]
    assert [one["batches"] for one in each] == [24, 24]


@a_row
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_copy_made_in_mid_fit_is_a_callback_of_its_own(played):
    result = played("copies_of_the_callback_start_anew")
    assert [one["batches"] for one in result["copies"]] == [8, 8]


@a_row
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_fault_in_any_hook_of_ours_changes_nothing_and_is_told_once(played):
    for name, found in played("each_hook_of_ours_fails_in_turn")["hooks"].items():
        assert found == {"same": True, "told": 1}, name


@a_row
@pytest.mark.parametrize("backend", TENSORFLOW)
def test_stamps_do_not_pile_up_when_we_are_switched_off(played):
    for name, most in played("stamps_do_not_pile_up_when_we_are_switched_off")["waiting"].items():
        assert 0 < most <= 16, name  # of 64


@a_row
@pytest.mark.parametrize("backend", BACKENDS)
def test_where_no_iterator_can_be_timed_the_wait_is_not_measured_and_that_is_said(played):
    result = played("no_epoch_iterator_is_found")
    assert result["batches"] == 16
    assert result["wait"] is False
    assert any("no iterator of this fit could be timed" in note for note in result["notes"])
    assert result["untouched"]


def test_the_kill_switch_loads_nothing_and_writes_nothing(tmp_path):
    code = """
import os, sys
import keras, numpy as np
from feedwatch.keras import FeedWatch
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)]); model.compile("sgd", "mse")
model.fit(np.ones((80, 4)), np.ones(80), batch_size=8, verbose=0, callbacks=[FeedWatch(sys.argv[1], console=False)])
heavy = [name for name in sys.modules if name.startswith('feedwatch.') and
         name.split('.')[1] in ('session', 'measure', 'report', 'advise', 'diagnose', 'probe')]
print(heavy, os.listdir(os.path.dirname(sys.argv[1])))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "run")],
        env=_environment(KERAS_BACKEND="tensorflow", FEEDWATCH="0"),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.strip() == "[] []"
