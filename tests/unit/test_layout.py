"""What import-linter cannot see: who writes event files, and what no source file may do."""

import re
from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).parents[2] / "src" / "feedwatch").rglob("*.py"))


def places(pattern):
    found = re.compile(pattern)
    return {file.name for file in SOURCES if found.search(file.read_text(encoding="utf-8"))}


def test_one_module_frames_records():
    assert places(r"import RecordWriter") == {"event_file.py"}


@pytest.mark.parametrize(
    "forbidden", [r"\bimport pickle\b", r"\bimport subprocess\b", r"(?<![\w.])eval\(", r"\bexec\("]
)
def test_nothing_pickles_evaluates_or_starts_processes(forbidden):
    assert places(forbidden) == set()


def test_nothing_swallows_ctrl_c():
    assert places(r"except\s*:|except BaseException(?!.*\n\s+.*\n?\s*raise)") == set()
