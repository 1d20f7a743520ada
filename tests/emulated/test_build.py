"""Where it cannot be built one line says why; and it never shares a process with other tests."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.emulated import build, plugin

REPOSITORY = Path(__file__).parents[2]


def test_without_a_compiler_one_line_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(build, "_folder", lambda: tmp_path / "build")
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(build.CannotBuild) as raised:
        build.ensure_built()
    (line,) = str(raised.value).splitlines()
    assert line.startswith("the emulated device cannot be built: no C++ compiler (no-such-compiler) was found")


def test_an_error_of_the_compiler_is_shown_and_not_taken_for_a_missing_one(monkeypatch, tmp_path):
    """`false` is a compiler that always fails."""
    monkeypatch.setenv("CXX", "false")
    monkeypatch.setattr(build, "_folder", lambda: tmp_path / "build")
    with pytest.raises(RuntimeError, match="does not compile") as raised:
        build.ensure_built()
    assert not isinstance(raised.value, build.CannotBuild)


def test_without_a_compiler_its_tests_skip_and_in_ci_they_fail(monkeypatch):
    def cannot_build():
        raise build.CannotBuild("no compiler")

    monkeypatch.setattr(plugin, "load", cannot_build)
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="^no compiler$"):
        plugin.load_or_skip()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no compiler"):
        plugin.load_or_skip()


@pytest.mark.timeout(600)  # on a fresh machine it is the first that needs the device, and waits for the compiler
def test_beside_other_tests_it_runs_in_a_process_of_its_own(tmp_path, monkeypatch):
    """One that passes on the device, one that fails there, one that ends the process, and one that must not see it."""
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["tests.emulated.plugin"]\n')
    (tmp_path / "test_mixed.py").write_text(
        "import os, torch\n"
        "def test_before(): torch.ones(1, requires_grad=True).sum().backward()\n"
        "def test_good(emulated): torch.ones(1, device='emulated', requires_grad=True).sum().backward()\n"
        "def test_bad(emulated): assert torch.accelerator.device_count() == 7\n"
        "def test_dead(emulated): os._exit(3)\n"
        "def test_next(emulated): torch.ones(1, device='emulated')\n"
        "def test_after(): assert torch.accelerator.current_accelerator() is None\n"
    )
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=560)
    assert "4 passed" in done.stdout, done.stdout  # a death costs only the test that was under way
    assert "died and was started again" in done.stdout
    assert "2 failed" in done.stdout, done.stdout
    assert "assert 2 == 7" in done.stdout
    assert "the pytest of the emulated device ended with 3" in done.stdout
    for name in ("before", "good", "next", "after"):
        assert f"test_mixed.py::test_{name}\n" in done.stdout.partition("PASSED")[2].partition("FAILED")[0]
