"""Training with FeedWatch is the same training: every row of cases.py, without and with, in a process per group."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.keras.rows import NOTHING_STEADY, ROWS

ROOT = Path(__file__).parents[3]


@functools.cache
def _results(group):
    environment = {**os.environ, "FEEDWATCH_STRICT": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    environment["PYTHONPATH"] = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    done = subprocess.run(
        [sys.executable, "-m", "tests.contract.keras.run_cases", group],
        capture_output=True,
        text=True,
        check=False,
        timeout=840,
        env=environment,
        cwd=ROOT,
    )
    lines = [line[len("RESULT ") :] for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    found = {result["name"]: result for result in map(json.loads, lines)}
    assert found, done.stderr[-3000:]
    return found


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("group", ROWS)
def test_the_rows_that_ran_are_the_rows_that_are_written_down(group):
    assert set(_results(group)) == ROWS[group]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("group", "name"), [(group, name) for group in ROWS for name in sorted(ROWS[group])])
def test_fit_is_the_same_with_and_without(group, name):
    result = _results(group)[name]
    assert "error" not in result, result.get("error")
    assert all(result["same"].values()), result["same"]
    assert result["status"] == "finished"
    assert result["batches"] == result["expected_batches"]
    assert result["last_step"] == result["iterations"]
    assert (result["measured"] > 0) == (name not in NOTHING_STEADY)
    assert result["wait_measured"] == (name not in NOTHING_STEADY)
    assert result["train_function"], "a wrapper was left on the model"
    assert result["threads"] == []
    if group != "determinism":
        assert result["dropped"] == 0


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_op_determinism_falls_back_to_the_passive_estimate_and_says_so():
    result = _results("determinism")["deterministic_ops"]
    assert any("op determinism" in note for note in result["notes"])
    assert result["measured"] > 20


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("arrays", "arrays"),
        ("tf_data_with_shuffle_and_dropout", "tf.data"),
        ("generator_that_ends", "generator"),
        ("pydataset", "pydataset"),
    ],
)
@pytest.mark.parametrize("group", ["tensorflow", "torch", "jax"])
def test_the_kind_of_data_is_named(group, name, kind):
    assert _results(group)[name]["kind"] == kind
