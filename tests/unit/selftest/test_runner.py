"""Results as a table, as JSON and as a number of failures."""

import json

from rich.console import Console

from feedwatch.selftest.bench import Bench
from feedwatch.selftest.row import Row
from feedwatch.selftest.runner import FAILED, NOT_RUN, PASSED, as_json, failures, run_all, table
from feedwatch.selftest.scenarios import Scenario


def raising(bench, folder):
    raise OSError("cannot open '/home/somebody/secret/file.txt'")


SCENARIOS = (
    Scenario("right", lambda bench, folder: Row("1", "1", agree=True)),
    Scenario("wrong", lambda bench, folder: Row("1", "2", agree=False)),
    Scenario("raises", raising),
    Scenario("elsewhere", raising, lambda bench: "CUDA"),
)


def results():
    heard = []
    found = run_all(Bench("cpu"), SCENARIOS, heard.append)
    assert heard == [scenario.name for scenario in SCENARIOS]
    return found


def test_every_scenario_has_a_verdict_and_failures_are_counted():
    found = results()
    assert [each.verdict for each in found] == [PASSED, FAILED, FAILED, NOT_RUN]
    assert failures(found) == 2
    assert found[3].said == "needs CUDA"


def test_the_json_names_no_path(tmp_path):
    text = json.dumps(as_json(Bench("cpu"), results()))
    assert "somebody" not in text
    assert "/home" not in text
    assert json.loads(text)["device"]["kind"] == "cpu"


def test_the_table_shows_truth_and_what_was_said(capsys):
    Console(width=120).print(table(Bench("cpu"), results()))
    shown = capsys.readouterr().out
    assert "wrong" in shown
    assert "needs CUDA" in shown
