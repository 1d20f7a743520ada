"""Grain in Keras, on all three backends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.loaders


@pytest.mark.parametrize("backend", ["tensorflow", "torch", "jax"])
def test_grain_trains_the_same_and_its_settings_are_known(tmp_path, backend):
    pytest.importorskip("grain")
    environment = {**os.environ, "KERAS_BACKEND": backend, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    command = [sys.executable, str(Path(__file__).with_name("run_grain.py")), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.strip().splitlines()[-1])
    assert told["same"]
    assert told["batches"] == 24
    assert told["kind"] == "grain"
    assert (told["stream"]["read_threads"], told["stream"]["prefetch_buffer"]) == (3, 7)
