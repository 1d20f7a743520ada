"""`feedwatch explain`"""

import json

import pytest

from feedwatch.advise.registry import RULES
from feedwatch.cli import main


def test_it_knows_a_rule_by_code_and_by_name(capsys):
    assert main(["explain", "fw101"]) == 0
    by_code = capsys.readouterr().out
    assert main(["explain", "loader-without-workers"]) == 0
    assert capsys.readouterr().out == by_code
    assert "num_workers" in by_code


def test_an_unknown_code_is_one_line_and_exit_2(error_line):
    assert main(["explain", "FW999"]) == 2
    assert "FW999" in error_line()


@pytest.mark.parametrize(
    ("meant", "nearest"), [("fw501x", "FW501"), ("loader-without-worker", "loader-without-workers")]
)
def test_a_slip_of_the_finger_is_answered_with_the_nearest_name(meant, nearest, error_line):
    assert main(["explain", meant]) == 2
    assert error_line().endswith(f"did you mean {nearest}?")


def test_every_page_is_one_json_list(capsys):
    assert main(["explain", "--all", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [each["code"] for each in listed] == [rule.code for rule in RULES]
    assert all(each["name"] and each["code"] in each["page"] for each in listed)


def test_one_page_as_json_by_its_name(capsys):
    assert main(["explain", RULES[0].name, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["code"] == RULES[0].code


@pytest.mark.parametrize("wrong", [["explain"], ["explain", "FW101", "--all"]])
def test_nothing_to_explain_or_two_wishes_at_once_is_one_line(capsys, wrong):
    assert main(wrong) == 2
    assert "explain takes one finding" in capsys.readouterr().err
