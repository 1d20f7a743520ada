"""Further attempts are counted, named and never given where one failure is one too many."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

FAILS_ONCE = """
from pathlib import Path

def test_it():
    been_here = Path(__file__).with_suffix(".seen")
    first = not been_here.exists()
    been_here.touch()
    assert not first, "a busy machine"
"""

REMEMBERS = """
import functools

measured = []

@functools.cache
def measure():
    measured.append(1)
    return len(measured)

def test_it():
    assert measure() == 2, "the first figure"
"""


@pytest.fixture
def run(tmp_path):
    def in_room(room, test=FAILS_ONCE):
        folder = tmp_path / "tests" / room
        folder.mkdir(parents=True)
        (folder / "test_once.py").write_text(test)
        shutil.copy(TESTS / "conftest.py", tmp_path / "tests")
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", tmp_path, folder]
        found = {**os.environ, "PYTHONPATH": str(TESTS.parent)}  # conftest.py names a plugin of this repository
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path, env=found)
        return done.returncode, done.stdout

    return in_room


@pytest.mark.parametrize("room", ["contract", "tab", "examples"])
def test_a_second_attempt_is_counted_and_named(run, room):
    code, output = run(room)
    assert code == 0
    assert "1 attempt(s) failed and were made again" in output
    assert f"tests/{room}/test_once.py::test_it: AssertionError: a busy machine" in output


def test_a_second_attempt_measures_again(run):
    code, output = run("contract", REMEMBERS)
    assert code == 0, output


def test_a_test_that_measures_time_has_more_attempts_unless_it_is_a_fault(run):
    measures = FAILS_ONCE.replace("def test_it", "import pytest\n\n@pytest.mark.alone\ndef test_it")
    assert [run(room, measures)[0] for room in ("unit", "faults")] == [0, 1]


@pytest.mark.parametrize("room", ["faults", "unit", "rules"])
def test_no_second_attempt_where_one_failure_is_one_too_many(run, room):
    code, output = run(room)
    assert code == 1
    assert "0 attempt(s) failed and were made again" in output
