"""`feedwatch compare`"""

import json

import pytest

from feedwatch.cli import main
from feedwatch.cli.compare import headline
from feedwatch.report.compare import compare
from feedwatch.report.json import from_json
from tests.tab import reports
from tests.unit.report.test_compare import with_wait


@pytest.fixture
def slow():
    return from_json(reports.workers2())


@pytest.fixture
def faster():
    return from_json(reports.workers6())


def test_the_headline_never_sounds_surer_than_the_numbers(slow, faster):
    short = with_wait(faster, faster.series.input_wait[:4])
    assert headline("a", "b", compare(slow, faster)) == "b is 1.71× as fast as a."
    assert headline("a", "b", compare(slow, slow)) == "b is as fast as a: the difference is within noise."
    assert headline("b", "a", compare(faster, slow)) == "a is slower than b: 0.59× its speed."
    assert headline("a", "b", compare(slow, short)).endswith(
        "is 1.71× as fast as a, by too few windows to be sure (4 of 5)."
    )
    assert "cannot be compared" in headline("a", "b", compare(slow, from_json(reports.failed())))


def test_the_command_prints_a_table_and_json(tmp_path, capsys):
    for name, report in (("a[b]", reports.workers2()), ("b", reports.workers6())):
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.json").write_text(json.dumps(report))
    arguments = ["compare", str(tmp_path / "a[b]"), str(tmp_path / "b")]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "1.71× as fast as" in " ".join(shown.split())
    assert "a[b]" in shown.replace("\n", "")
    assert "63.8 ms" in shown
    assert "−41 %" in shown
    assert "−35 points" in shown
    assert main([*arguments, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["speedup"] == pytest.approx(1.7057, rel=1e-3)
    assert answer["rows"][0] | {"p": None} == {
        "name": "step", "unit": "ms", "before": 63.8, "after": 37.4, "change": pytest.approx(-0.4138, rel=1e-3), "p": None, "call": "significant",
        "windows": 240, "windows_needed": 5,
    }  # fmt: skip


def test_no_column_is_cut_however_narrow_the_terminal_is(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    short = reports.workers6()
    short["series"] = {key: values[:3] for key, values in short["series"].items()}
    for name, report in (("a", reports.workers2()), ("b", short)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.json").write_text(json.dumps(report))
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert "samples per second    1,003    1,711" in shown
    assert "−35 points  too few windows: 3 of 5" in shown
    assert shown.splitlines()[-1].startswith("Next: train longer: a decision takes 5 windows")
