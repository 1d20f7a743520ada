"""What is read of real tf.data pipelines."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PIPELINES = {
    "serial_python_map",
    "parallel_map_and_prefetch",
    "tfrecord_interleave",
    "tfrecord_serial",
    "a_file_per_element",
    "generator",
    "autotune_off",
}


@functools.cache
def _facts():
    environment = {**os.environ, "FEEDWATCH_STRICT": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    environment["PYTHONPATH"] = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    done = subprocess.run(
        [sys.executable, "-m", "tests.contract.keras.run_pipelines"],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        env=environment,
        cwd=ROOT,
    )
    lines = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert done.returncode == 0, done.stderr[-3000:]
    found = {line["name"]: line for line in lines}
    assert set(found) == PIPELINES
    return found


def _stages(name):
    return {stage["op"] + (stage["function"] or ""): stage for stage in _facts()[name]["pipeline"]["tf_data"]["stages"]}


@pytest.mark.slow
def test_a_serial_python_map_is_named_with_file_and_line_and_is_the_bottleneck():
    decode = _stages("serial_python_map")["Mapdecode"]
    assert decode["source"].startswith("run_pipelines.py:")
    assert decode["python"] is True
    assert decode["parallelism"] is None
    assert decode["ms_per_batch"] > 8 * 3
    (slowest,) = [stage for stage in _facts()["serial_python_map"]["pipeline"]["stages"] if stage["bottleneck"]]
    assert slowest["detail"].startswith("decode (run_pipelines.py:")


@pytest.mark.slow
def test_parallelism_randomness_and_buffers_are_read():
    stages = _stages("parallel_map_and_prefetch")
    assert stages["Shuffle"]["buffer_size"] == 32
    assert stages["ParallelMapaugment"]["parallelism"] == 2
    assert stages["ParallelMapaugment"]["random"] is True
    assert stages["Prefetch"]["buffer_size"] == -1
    assert stages["Batch"]["batch_size"] == 8


@pytest.mark.slow
def test_readers_files_and_caches_are_read():
    facts = _facts()["tfrecord_interleave"]["pipeline"]["tf_data"]
    assert facts["file_count"] == 4
    assert facts["from_memory"] is False
    assert _stages("tfrecord_interleave")["ParallelInterleaveTFRecordDatasetV2"]["parallelism"] == -1
    assert "Cache" in _stages("tfrecord_interleave")
    assert _stages("tfrecord_serial")["TFRecord"]["parallelism"] is None
    assert _stages("a_file_per_element")["Mapread"]["opens_files"] is True
    assert _facts()["a_file_per_element"]["pipeline"]["tf_data"]["file_count"] == 32


@pytest.mark.slow
def test_a_generator_is_python():
    assert _stages("generator")["FromGenerator"]["python"] is True


@pytest.mark.slow
def test_without_autotune_stage_times_are_unknown_and_that_is_said():
    found = _facts()["autotune_off"]
    assert found["pipeline"]["tf_data"]["autotune"] is False
    assert all(stage["ms_per_batch"] is None for stage in found["pipeline"]["stages"])
    assert any("autotuning is switched off" in note for note in found["notes"])


@pytest.mark.slow
def test_the_batch_is_described_by_its_spec():
    assert _facts()["serial_python_map"]["batch"]["size_bytes"] == 8 * (8 + 1) * 4
    assert _facts()["serial_python_map"]["batch"]["dtypes"] == {"float32": 288}
