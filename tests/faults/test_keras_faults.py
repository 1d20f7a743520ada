"""What goes wrong around a Keras fit. Rows run in one process per backend: each also proves that the next fit works."""

import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BACKENDS = ["tensorflow", "torch", "jax"]


def _environment(**more):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("FEEDWATCH")}
    paths = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    return kept | {"PYTHONPATH": paths, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""} | more


@functools.cache
def _rows(backend):
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.keras_rows", backend],
        capture_output=True,
        text=True,
        timeout=840,
        check=False,
        cwd=ROOT,
        env=_environment(),
    )
    lines = [line[len("RESULT ") :] for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    found = {result["name"]: result for result in map(json.loads, lines)}
    assert found, done.stderr[-3000:]
    return found


def _row(backend, name):
    result = _rows(backend)[name]
    assert "error" not in result, result.get("error")
    return result


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_between_two_epochs_arrives_as_the_same_object_and_the_report_says_how_it_ended(backend):
    result = _row(backend, "an_error_at_epoch_end")
    assert result["same_object"]
    assert result["status"] == result["on_disk"] == "failed"
    assert result["batches"] == 8
    assert result["next_fit"]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_of_the_model_is_a_failed_run_and_nothing_is_left_on_the_model(backend):
    result = _row(backend, "the_model_raises")
    assert result["same_object"]
    assert result["status"] == result["on_disk"] == "failed"
    assert result["batches"] == 6
    assert result["nothing_left"]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_that_a_callback_catches_itself_ends_nothing(backend):
    result = _row(backend, "an_error_that_a_callback_catches_itself")
    assert result["status"] == "finished"
    assert result["batches"] == 8


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_dataset_that_raises_gives_the_error_it_gives_without_us():
    result = _row("tensorflow", "the_dataset_raises")
    assert result["caught"] == result["plain"]
    assert result["on_disk"] == "failed"
    assert result["next_fit"]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("backend", BACKENDS)
def test_data_that_ends_early_is_a_finished_run(backend):
    assert _row(backend, "data_that_ends_early") | {"name": ""} == {
        "name": "",
        "status": "finished",
        "on_disk": "finished",
        "caught": None,
        "batches": 7,
    }


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_empty_data_behaves_as_without_us():
    result = _row("tensorflow", "empty_data")
    assert result["plain"] == result["watched"]
    assert result["batches"] == 0


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "name",
    [
        "a_fit_nested_in_ours_with_a_callback_of_its_own",
        "the_same_callback_in_a_nested_fit",
        "the_same_callback_in_a_nested_fit_that_raises",
    ],
)
def test_a_nested_fit_does_not_disturb_the_outer_one(backend, name):
    result = _row(backend, name)
    assert result["status"] == "finished"
    assert result["batches"] == 16


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_second_callback_stays_passive_and_says_so_once(backend):
    result = _row(backend, "two_callbacks_in_one_fit")
    assert result["batches"] == 8
    assert result["second"]
    assert len(result["said"]) == 1


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("backend", BACKENDS)
def test_two_fits_in_two_threads_are_two_runs(backend):
    each = _row(backend, "two_fits_in_two_threads")["each"]
    assert [one["batches"] for one in each] == [24, 24]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_copy_made_in_mid_fit_is_a_callback_of_its_own(backend):
    result = _row(backend, "copies_of_the_callback_start_anew")
    assert [one["batches"] for one in result["copies"]] == [8, 8]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_fault_in_any_hook_of_ours_changes_nothing_and_is_told_once(backend):
    for name, found in _row(backend, "each_hook_of_ours_fails_in_turn")["hooks"].items():
        assert found == {"same": True, "told": 1}, name


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_stamps_do_not_pile_up_when_we_are_switched_off():
    for name, most in _row("tensorflow", "stamps_do_not_pile_up_when_we_are_switched_off")["waiting"].items():
        assert 0 < most <= 16, name  # of 64


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("backend", BACKENDS)
def test_where_no_iterator_can_be_timed_the_wait_is_not_measured_and_that_is_said(backend):
    result = _row(backend, "no_epoch_iterator_is_found")
    assert result["batches"] == 16
    assert result["wait"] is False
    assert any("no iterator of this fit could be timed" in note for note in result["notes"])
    assert result["untouched"]


SCRIPT = """
import os, sys, time
import keras, numpy as np
from feedwatch.keras import FeedWatch
class Meddles(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        if batch == 5:
            {act}
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)]); model.compile("sgd", "mse")
model.fit(np.ones((800, 4)), np.ones(800), batch_size=8, verbose=0,
          callbacks=[FeedWatch(sys.argv[1], console=False), Meddles()])
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("act", "status"),
    [
        ("raise ValueError('the user')", "failed"),
        ("sys.exit(3)", "interrupted"),
        ("print('ready', flush=True); time.sleep(60)", "interrupted"),
    ],
    ids=["error", "exit", "ctrl-c"],
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_script_that_dies_leaves_a_report(tmp_path, backend, act, status):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(act=act), str(tmp_path)],
        env=_environment(KERAS_BACKEND=backend),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    if "ready" in act:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert json.loads((tmp_path / "feedwatch" / "report.json").read_text())["status"] == status


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_kill_switch_loads_nothing_and_writes_nothing(tmp_path):
    code = SCRIPT.format(act="pass") + (
        "\nheavy = [name for name in sys.modules if name.startswith('feedwatch.') and"
        " name.split('.')[1] in ('session', 'measure', 'report', 'advise', 'diagnose', 'probe')]"
        "\nprint(heavy, os.listdir(os.path.dirname(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "run")],
        env=_environment(KERAS_BACKEND="tensorflow", FEEDWATCH="0"),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.strip() == "[] []"


def test_without_keras_the_error_names_the_command():
    code = "import sys; sys.modules['keras'] = None\nimport feedwatch.keras"
    done = subprocess.run(
        [sys.executable, "-c", code], env=_environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert 'pip install "feedwatch[keras]"' in done.stderr.splitlines()[-1]
