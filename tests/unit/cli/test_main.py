"""The command line itself: errors are one line, help is there, a closed pipe is no error."""

import subprocess
import sys

import pytest

from feedwatch import __version__
from feedwatch.cli import COMMANDS, main


@pytest.mark.parametrize("command", ["report", "check"])
def test_no_run_there_is_one_line_and_exit_2(command, tmp_path, error_line):
    assert main([command, str(tmp_path / "nothing")]) == 2
    assert "no run there" in error_line()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as leave:
        main([command, "--help"])
    assert leave.value.code == 0


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as leave:
        main(["--version"])
    assert leave.value.code == 0
    assert capsys.readouterr().out == f"feedwatch {__version__}\n"


def test_no_command_imports_a_framework_or_rich_before_it_is_asked():
    code = """
import sys
from feedwatch.cli import main
try:
    main(["--help"])
except SystemExit:
    print(sorted({"torch", "tensorflow", "keras", "lightning", "rich", "numpy"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_reader_that_has_seen_enough_is_no_error(waiting):
    command = f"{sys.executable} -m feedwatch report {waiting} --json | head -c 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "{", "")
