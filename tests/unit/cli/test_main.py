"""The command line itself: errors are one line, help is there, a closed pipe is no error."""

import os
import shutil
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


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_f90_a_name_that_is_no_text_is_printed_all_the_same(waiting, tmp_path, locale):
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/o\xffdd")
    shutil.copytree(waiting, odd)
    page = f"{odd}/page.html"
    environment = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for words in (
        ["report", odd],
        ["report", odd, "--html", page],
        ["compare", odd, odd],
        ["check", odd],
        ["trace", odd],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "feedwatch", *words], capture_output=True, timeout=60, check=False, env=environment
        )
        assert done.returncode in (0, 1, 2)
        assert b"Traceback" not in done.stderr, done.stderr
    assert os.path.exists(page)


@pytest.mark.parametrize(
    "words", [["report", "a\0b"], ["check", "a\0b"], ["trace", "\ud800"], ["compare", "\ud800", "a\0b"]]
)
def test_f90_a_name_that_no_file_can_have_is_one_line(words, error_line):
    assert main(words) == 2
    assert "no run there" in (said := error_line()) or "cannot be opened" in said
