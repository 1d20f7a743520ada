"""Keras on torch on the emulated device. Keras reads its backend and its device once, so the fits have their own process."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.emulated.plugin import load_or_skip

ROOT = Path(__file__).parents[3]


@functools.cache
def _rows():
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.contract.device.run_keras_torch"],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        env=environment,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    return {row["name"]: row for row in rows}


@pytest.fixture
def rows(emulated):
    load_or_skip()
    return _rows()


def test_the_copy_of_arrays_is_a_copy_and_no_wait(rows):
    """It runs inside `next()`: 8 ms of it were called a wait for input."""
    row = rows["arrays"]
    assert row["clock"] == "device"
    assert row["copy_ms"] == pytest.approx(
        row["copied_ms"], abs=4
    )  # the emulated copy moves its bytes on the host, too
    assert row["wait_ms"] < 3
    assert row["bound"] == "transfer"
    assert row["steps"] == 30


def test_a_slow_generator_is_still_a_wait_and_its_copy_is_not(rows):
    row = rows["generator"]
    assert row["wait_ms"] == pytest.approx(row["made_ms"], abs=3)
    assert row["copy_ms"] == pytest.approx(row["copied_ms"], abs=4)
    assert row["bound"] == "input"


def test_the_device_is_the_one_that_keras_says(rows):
    assert (rows["arrays"]["kind"], rows["arrays"]["device"]) == ("emulated", "emulated:0 (emulated accelerator 0)")
    assert rows["scope"]["device"] == "emulated:1 (emulated accelerator 1)"
    assert rows["cpu"]["kind"] == "cpu"
    assert (rows["arrays"]["devices"], rows["scope"]["devices"]) == ([0], [1])


def test_what_keras_adds_itself_reads_nothing(rows):
    """The progress bar does not end asynchronous dispatch, and was blamed for it."""
    assert rows["scope"]["synchronises"] is None


def test_keras_own_conversion_is_given_back(rows):
    assert rows["arrays"]["converts"] == "keras.src.backend.torch.core"


def test_the_selftests_scenario_for_it_runs_and_agrees(rows):
    assert rows["selftest"]["agree"], rows["selftest"]["said"]
