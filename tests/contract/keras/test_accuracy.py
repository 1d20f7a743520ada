"""The measured wait against the data's own clock, for scripted input and compute times."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@functools.cache
def _measured(backend):
    environment = {**os.environ, "FEEDWATCH_STRICT": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    environment["PYTHONPATH"] = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    done = subprocess.run(
        [sys.executable, "-m", "tests.contract.keras.run_accuracy", backend],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        env=environment,
        cwd=ROOT,
    )
    found = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert found, done.stderr[-3000:]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tensorflow", "torch", "jax"])
def test_the_wait_is_what_the_datas_own_clock_saw(backend):
    rows = [row for row in _measured(backend) if not row["prefetch"] and row["steps_per_execution"] == 1]
    for row in rows:
        # 3 % and 1 ms, plus the 1 % of the sketch that holds the median.
        assert row["wait_ms"] == pytest.approx(row["truth_ms"], rel=0.04, abs=1.0), row
        assert row["wait_ms"] >= 0.97 * row["truth_ms"] or backend == "jax", row


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tensorflow", "torch"])
def test_compute_is_not_called_wait(backend):
    for row in _measured(backend):
        if row["steps_per_execution"] == 1:
            assert row["measured_compute_ms"] >= row["compute_ms"], row


@pytest.mark.slow
def test_a_full_prefetch_buffer_means_no_wait():
    (row,) = [row for row in _measured("tensorflow") if row["prefetch"]]
    assert row["wait_ms"] < 1.0
    assert row["bound"] != "input"


@pytest.mark.slow
def test_with_several_steps_per_execution_the_wait_is_not_overstated():
    (row,) = [row for row in _measured("tensorflow") if row["steps_per_execution"] == 4]
    # Four fetches per call, of which three overlap 5 ms of compute each.
    alone_ms = 4 * row["truth_ms"]
    assert alone_ms - 4 * row["compute_ms"] - 30 <= row["wait_ms"] <= 1.04 * alone_ms + 1
