"""Every example runs as a user would run it, says what its page promises, and shows the effect."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

# Steps: enough for a verdict in the seconds that a test has. Timing itself is not asserted, and where two changes help
# about as much (`a|b`), either of them may be what a busy machine is told.
SAYS = {
    "gpu_no_faster_than_cpu.py": (24, ["FW101", "num_workers=", "before ", "A GPU can shorten the compute part only"]),
    "python_in_the_map.py": (60, ["FW124|FW126|FW134", "before "]),
    "missing_prefetch.py": (40, ["FW121|FW126|FW133|FW134", "before "]),
    "data_on_the_device_once.py": (60, ["FW106", "before ", "not shown on a CPU: FW207"]),
    "device_tensors_in_the_dataset.py": (60, ["FW106", "before ", "not shown on a CPU: FW112"]),
    "pinned_memory.py": (24, ["before ", "not shown on a CPU: FW201"]),
    "many_tiny_operations.py": (24, ["FW302", "before ", "not shown on a CPU: FW301"]),
    "records_instead_of_small_files.py": (60, ["FW127", "before "]),
    "slow_first_steps.py": (24, ["FW308", "first step", "without compiling"]),
}


def run(name, steps, directory):
    environment = {**os.environ, "FEEDWATCH_EXAMPLE_STEPS": str(steps), "TF_CPP_MIN_LOG_LEVEL": "3", "COLUMNS": "100"}
    command = [sys.executable, str(EXAMPLES / name)]
    return subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, timeout=240, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", SAYS)
def test_an_example_shows_the_symptom_the_advice_and_the_effect(name, tmp_path):
    steps, phrases = SAYS[name]
    done = run(name, steps, tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    for phrase in phrases:
        assert any(each in done.stdout for each in phrase.split("|")), f"{phrase!r} is missing in:\n{done.stdout}"


def test_every_example_is_run_and_indexed():
    scripts = {path.name for path in EXAMPLES.glob("*.py")}
    index = (EXAMPLES / "README.md").read_text()
    assert scripts == set(SAYS)
    assert all(f"({name})" in index for name in scripts)


def test_an_example_fits_on_a_screen():
    lengths = {path.name: len(path.read_text().splitlines()) for path in EXAMPLES.glob("*.py")}
    assert {name for name, lines in lengths.items() if lines >= 60} == set()
