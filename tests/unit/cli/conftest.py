import pytest

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


@pytest.fixture
def error_line(capsys):
    """The one line that a failed command prints."""

    def read():
        out, err = capsys.readouterr()
        assert out == ""
        lines = err.strip().splitlines()
        assert len(lines) == 1, err
        return lines[0]

    return read
