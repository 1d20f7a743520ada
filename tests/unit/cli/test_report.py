"""`feedwatch report`"""

import json
from dataclasses import replace

import pytest

from feedwatch import __version__
from feedwatch.cli import main
from feedwatch.cli.report import silent
from feedwatch.model.report import Status
from feedwatch.report.json import write_report_file
from tests.fakes.reports import report


def test_it_prints_the_verdict(waiting, capsys):
    assert main(["report", waiting]) == 0
    assert "waits for data 50 %" in capsys.readouterr().out


def test_json_is_the_whole_report(waiting, capsys):
    assert main(["report", waiting, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == 2
    assert data["feedwatch"] == __version__
    assert data["verdict"]["stall_ratio"] == pytest.approx(0.5, rel=0.02)


def test_html_writes_one_file(waiting, tmp_path, capsys):
    assert main(["report", waiting, "--html", str(tmp_path / "r.html")]) == 0
    assert "waits for data" in (tmp_path / "r.html").read_text()


def test_html_to_nowhere_is_one_line(waiting, error_line):
    assert main(["report", waiting, "--html", "/nonexistent/r.html"]) == 2
    assert "cannot write" in error_line()


def test_a_foreign_directory_is_one_line_and_exit_2(tmp_path, error_line):
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["report", str(tmp_path)]) == 2
    assert "no feedwatch report" in error_line()
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_truncated_event_file_is_one_line_and_exit_2(tmp_path, error_line):
    (tmp_path / "events.out.tfevents.123.host").write_bytes(b"\x30\x00\x00\x00\x00\x00\x00\x00\x01\x02")
    assert main(["report", str(tmp_path)]) == 2
    assert "no feedwatch report" in error_line()


@pytest.mark.parametrize(
    ("status", "age_s", "quiet_s", "expected"),
    [
        (Status.RUNNING, 600, 60, False),
        (Status.RUNNING, 600, 130, True),
        (Status.RUNNING, 72 * 3600, 1200, False),  # an old run reports more rarely
        (Status.RUNNING, 72 * 3600, 4000, True),
        (Status.FINISHED, 600, 10**6, False),
    ],
)
def test_f93_a_run_that_was_killed_is_told_from_one_that_runs(status, age_s, quiet_s, expected):
    made = report(status)
    made = replace(made, run=replace(made.run, started=1000.0, updated=1000.0 + age_s))
    assert silent(made, 1000.0 + age_s + quiet_s) is expected


def test_f93_that_a_run_is_silent_is_said(tmp_path, capsys):
    write_report_file(tmp_path, report(Status.RUNNING))
    assert main(["report", str(tmp_path)]) == 0
    assert "it may have been killed" in " ".join(capsys.readouterr().out.split())


def test_html_is_not_written_through_a_link(waiting, tmp_path, error_line):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "page.html").symlink_to(tmp_path / "victim")
    assert main(["report", waiting, "--html", str(tmp_path / "page.html")]) == 2
    assert "link" in error_line()
    assert (tmp_path / "victim").read_text() == "precious"
