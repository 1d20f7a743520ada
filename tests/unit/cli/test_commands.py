import json

import pytest

from feedwatch import __version__
from feedwatch.cli import COMMANDS, main
from feedwatch.report.json import write_report_file
from tests.fakes.reports import report


@pytest.fixture
def waiting(tmp_path):
    """A run that waits half its time."""
    write_report_file(tmp_path / "waiting" / "feedwatch", report(wall_ms=10, wait_ms=5, compute_ms=5))
    return str(tmp_path / "waiting")


@pytest.fixture
def unmeasured(tmp_path):
    """A run whose wait could not be measured."""
    write_report_file(tmp_path / "unmeasured" / "feedwatch", report(wait_ms=None))
    return str(tmp_path / "unmeasured")


def error_line(capsys):
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.strip().splitlines()
    assert len(lines) == 1, err
    return lines[0]


def test_report_prints_the_verdict(waiting, capsys):
    assert main(["report", waiting]) == 0
    assert "waits for data 50 %" in capsys.readouterr().out


def test_report_json_is_the_whole_report(waiting, capsys):
    assert main(["report", waiting, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == 1
    assert data["feedwatch"] == __version__
    assert data["verdict"]["stall_ratio"] == pytest.approx(0.5)


def test_report_html_writes_one_file(waiting, tmp_path, capsys):
    assert main(["report", waiting, "--html", str(tmp_path / "r.html")]) == 0
    assert "waits for data" in (tmp_path / "r.html").read_text()


def test_report_html_to_nowhere_is_one_line(waiting, capsys):
    assert main(["report", waiting, "--html", "/nonexistent/r.html"]) == 2
    assert "cannot write" in error_line(capsys)


@pytest.mark.parametrize(("allowed", "code"), [("0.6", 0), ("0.5", 0), ("0.4", 1), ("0", 1)])
def test_check_exits_0_or_1(waiting, allowed, code, capsys):
    assert main(["check", waiting, "--max-stall", allowed]) == code


def test_check_of_a_run_without_a_stall_ratio_is_an_error_not_a_pass(unmeasured, capsys):
    assert main(["check", unmeasured]) == 2
    assert "no stall ratio" in error_line(capsys)


@pytest.mark.parametrize("value", ["-1", "1.5", "much"])
def test_check_refuses_a_share_that_is_none(waiting, value, capsys):
    with pytest.raises(SystemExit) as leave:
        main(["check", waiting, "--max-stall", value])
    assert leave.value.code == 2


@pytest.mark.parametrize("command", ["report", "check"])
def test_no_run_there_is_one_line_and_exit_2(command, tmp_path, capsys):
    assert main([command, str(tmp_path / "nothing")]) == 2
    assert "no run there" in error_line(capsys)


def test_a_foreign_directory_is_one_line_and_exit_2(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["report", str(tmp_path)]) == 2
    assert "no feedwatch report" in error_line(capsys)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_truncated_event_file_is_one_line_and_exit_2(tmp_path, capsys):
    (tmp_path / "events.out.tfevents.123.host").write_bytes(b"\x30\x00\x00\x00\x00\x00\x00\x00\x01\x02")
    assert main(["report", str(tmp_path)]) == 2
    assert "no feedwatch report" in error_line(capsys)


def test_an_unknown_code_is_one_line_and_exit_2(capsys):
    assert main(["explain", "FW999"]) == 2
    assert "FW999" in error_line(capsys)


def test_explain_knows_a_rule_by_code_and_by_name(capsys):
    assert main(["explain", "fw101"]) == 0
    by_code = capsys.readouterr().out
    assert main(["explain", "loader-without-workers"]) == 0
    assert capsys.readouterr().out == by_code
    assert "num_workers" in by_code


def test_explain_says_why_a_rule_is_retired(capsys):
    assert main(["explain", "FW129"]) == 0
    assert "retired" in capsys.readouterr().out


def test_doctor_answers_every_question_without_a_gpu(capsys):
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    for word in ("tensorboard on PATH", "NVML", "CPU budget", "Feedwatch tab"):
        assert word in out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as leave:
        main([command, "--help"])
    assert leave.value.code == 0
