"""`import feedwatch` happens at every start of TensorBoard: it must load no framework and take no time."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.alone

HEAVY = ("tensorflow", "torch", "keras", "lightning", "jax", "tensorboard", "numpy", "rich", "psutil")

MEASURE = """
import sys, time
began = time.perf_counter()
import feedwatch
took = time.perf_counter() - began
import json
print(json.dumps({"ms": 1000 * took, "modules": sorted(sys.modules)}))
"""


def run(code: str) -> dict:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout.splitlines()[-1])


def test_importing_feedwatch_loads_nothing_heavy():
    loaded = set(run(MEASURE)["modules"])
    assert loaded.isdisjoint(HEAVY)


def test_importing_feedwatch_takes_less_than_50_ms():
    # The best of three: another process on this machine may take the CPU at any moment.
    assert min(run(MEASURE)["ms"] for _ in range(3)) < 50


@pytest.mark.parametrize(
    "module", ["feedwatch.session", "feedwatch.report.load", "feedwatch.cli", "feedwatch.tab.loader"]
)
def test_the_core_loads_no_framework(module):
    code = f"import sys, json, {module}; print(json.dumps(sorted(sys.modules)))"
    loaded = set(run(code))
    assert loaded.isdisjoint({"tensorflow", "torch", "keras", "lightning", "jax"})
