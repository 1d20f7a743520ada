import pytest

from feedwatch.errors import ReportError
from feedwatch.report.json import write_report_file
from feedwatch.report.load import load_run
from tests.fakes.reports import report


def test_a_run_is_found_by_its_directory_its_sub_run_and_its_file(tmp_path):
    value = report()
    path = write_report_file(tmp_path / "a" / "feedwatch", value)
    assert load_run(tmp_path / "a") == load_run(tmp_path / "a" / "feedwatch") == load_run(path) == value


def test_no_run_there_says_so(tmp_path):
    with pytest.raises(ReportError, match="no run there"):
        load_run(tmp_path / "missing")


def test_a_foreign_directory_says_so(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(ReportError, match="no feedwatch report"):
        load_run(tmp_path)


def test_a_parent_of_runs_names_them(tmp_path):
    write_report_file(tmp_path / "before" / "feedwatch", report())
    with pytest.raises(ReportError, match="before"):
        load_run(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"schema": 1}', b"\xff" * 20, b'{"schema": 7}'])
def test_a_damaged_report_is_one_clear_error(tmp_path, content):
    (tmp_path / "report.json").write_bytes(content)
    with pytest.raises(ReportError, match=r"report\.json"):
        load_run(tmp_path)


def test_a_file_larger_than_any_report_is_refused_by_size(tmp_path):
    (tmp_path / "report.json").write_bytes(b" " * (5 << 20))
    with pytest.raises(ReportError, match="larger"):
        load_run(tmp_path)


def test_a_truncated_event_file_without_a_report_is_one_clear_error(tmp_path):
    (tmp_path / "events.out.tfevents.1.host").write_bytes(b"\x18\x00\x00\x00\x00")
    with pytest.raises(ReportError, match="no feedwatch report"):
        load_run(tmp_path)
