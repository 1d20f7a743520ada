"""What lies between epochs is seen whatever the length of the data, and a DataLoader is read as every torch hook does."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.keras import loops_scripted as scripted

ROOT = Path(__file__).parents[3]


@functools.cache
def _rows(backend):
    environment = {**os.environ, "FEEDWATCH_STRICT": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    environment["PYTHONPATH"] = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    done = subprocess.run(
        [sys.executable, "-m", "tests.contract.keras.run_loops", backend],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        env=environment,
        cwd=ROOT,
    )
    lines = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stderr[-3000:]
    return {line["name"]: line for line in lines}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaps_with_data_of_unknown_length", "gaps_with_data_of_known_length"])
@pytest.mark.parametrize("backend", ["tensorflow", "torch", "jax"])
def test_the_gaps_between_three_epochs_are_two_and_as_long_as_they_were(backend, name):
    found = _rows(backend)[name]
    assert found["batches"] == 36
    assert found["dropped"] == 0
    assert found["count"] == 2
    assert 0.98 * scripted.GAP_MS <= found["median_ms"] <= scripted.GAP_MS + 700


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_the_workers_of_a_loader_are_measured_and_rules_about_them_can_speak(backend):
    found = _rows(backend)["a_loader_with_two_workers"]
    loader = found["loader"]
    # A worker's first batch is not counted: we arrive in the middle of it.
    assert [worker["batches"] >= 8 for worker in loader["workers"]] == [True, True]
    assert loader["load_ms"] >= 16 * scripted.ITEM_MS
    assert scripted.ITEM_MS <= loader["item_ms"] <= 5 * scripted.ITEM_MS
    assert loader["blocked_share"] > 0.5
    assert found["batch"]["dtypes"] == {"float32": 16 * 9 * 4}
    assert {"FW102", "FW111"} & set(found["codes"])  # the items only wait, which is a sleep here: more of them may
    assert found["given_back"]


@pytest.mark.slow
def test_the_queue_of_a_loader_is_gauged_where_keras_reads_it_itself():
    assert _rows("torch")["a_loader_with_two_workers"]["loader"]["ready_share"] is not None


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_without_workers_the_fetch_is_the_load(backend):
    found = _rows(backend)["a_loader_without_workers"]
    assert found["loader"]["load_ms"] >= 16 * scripted.ITEM_MS
    assert found["loader"]["cpu_share"] < 0.5
    assert found["stages"] == ["items", "collate"]
    assert "FW101" in found["codes"]
    assert found["given_back"]


@pytest.mark.slow
def test_workers_that_run_already_are_not_measured_and_that_is_said():
    found = _rows("torch")["a_loader_that_keeps_its_workers"]
    assert found["loader"]["load_ms"] is None
    assert any("Keras started them before" in note for note in found["notes"])
    assert found["given_back"]
