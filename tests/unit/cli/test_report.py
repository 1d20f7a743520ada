"""`feedwatch report`"""

import json

import pytest

from feedwatch import __version__
from feedwatch.cli import main


def test_it_prints_the_verdict(waiting, capsys):
    assert main(["report", waiting]) == 0
    assert "waits for data 50 %" in capsys.readouterr().out


def test_json_is_the_whole_report(waiting, capsys):
    assert main(["report", waiting, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == 1
    assert data["feedwatch"] == __version__
    assert data["verdict"]["stall_ratio"] == pytest.approx(0.5)


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
