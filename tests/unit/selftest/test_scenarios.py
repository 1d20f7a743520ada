"""The self-test is alive: its scenarios run on the emulated device, and those that can run on a CPU run there."""

import json
import subprocess
import sys

import pytest

from feedwatch.selftest.bench import Bench
from feedwatch.selftest.scenarios import SCENARIOS, near

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
# These start a process of their own, which cannot know the emulated device: see tests/contract/device for Keras on torch.
IN_A_PROCESS = {"Keras on torch, arrays", "Keras on TensorFlow", "two ranks"}
ON_EMULATED = sorted(set(BY_NAME) - IN_A_PROCESS)
ON_CPU = ["input-bound", "Keras on TensorFlow", "cost per step", "two ranks"]


def test_there_are_sixteen_and_no_two_of_one_name():
    assert len(SCENARIOS) == len(BY_NAME) == 16


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ON_EMULATED)
def test_on_the_emulated_device_feedwatch_tells_the_truth(emulated, tmp_path, name):
    bench, scenario = Bench("emulated:0"), BY_NAME[name]
    assert scenario.needs(bench) is None
    row = scenario.run(bench, tmp_path)
    assert row.truth
    assert row.said
    assert row.agree, row


def test_a_device_that_is_behind_makes_the_scenario_fail(emulated, tmp_path):
    """The check can fail: here the device's clock runs at the wrong speed."""
    bench = Bench("emulated:0")
    kernel, bench._work = bench._work, lambda duration_ms: None
    assert not BY_NAME["event clock"].run(bench, tmp_path).agree
    bench._work = kernel


def test_what_a_cpu_lacks_is_said():
    bench = Bench("cpu")
    missing = {name: scenario.needs(bench) for name, scenario in BY_NAME.items()}
    assert missing["event clock"] == "a device with timing events"
    assert [name for name, needed in missing.items() if needed is None] == ON_CPU


@pytest.mark.alone
@pytest.mark.parametrize("name", ON_CPU)
def test_on_a_cpu_what_can_run_runs(tmp_path, name):
    """In a process of its own, as a user starts it: workers of this one, which has run hundreds of tests, start slowly."""
    file = tmp_path / "result.json"
    command = [sys.executable, "-m", "feedwatch", "selftest", "--device", "cpu", "--only", name, "--json", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, ""), done.stdout
    (row,) = json.loads(file.read_text())["scenarios"]
    assert row["verdict"] == "passed"


def test_near_is_a_share_or_a_least_and_never_of_the_unknown():
    assert near(11, 10, 0.1, 0)
    assert near(0.4, 0, 0.1, 0.5)
    assert not near(12, 10, 0.1, 1)
    assert not near(None, 10, 1, 100)
