"""`feedwatch selftest`"""

import json
import socket

import pytest

from feedwatch.cli import main


@pytest.mark.alone
def test_on_a_cpu_it_runs_what_it_can_and_says_the_rest(tmp_path, capsys):
    file = tmp_path / "result.json"
    assert main(["selftest", "--device", "cpu", "--only", "input", "--json", str(file)]) == 0
    assert "what needs one was not run" in capsys.readouterr().out
    text = file.read_text()
    (row,) = json.loads(text)["scenarios"]
    assert (row["name"], row["verdict"]) == ("input-bound", "passed")
    assert str(tmp_path) not in text
    assert socket.gethostname() not in text


def test_a_device_or_a_name_that_is_not_there_is_one_line(capsys):
    assert main(["selftest", "--device", "nonsense:0"]) == 2
    assert main(["selftest", "--device", "cpu", "--only", "no such scenario"]) == 2
    assert capsys.readouterr().err.count("\n") == 2


def test_doctor_points_to_it(capsys):
    assert main(["doctor"]) == 0
    assert "Next: feedwatch selftest" in capsys.readouterr().out
