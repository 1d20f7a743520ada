"""The catalogue is whole: every fault of docs/promises.md has its test, and every test that is named is there."""

import ast
import re
from pathlib import Path

import pytest

from tests.faults.benches import ALL
from tests.faults.catalogue import ELSEWHERE, counted, fault_of, held
from tests.faults.rows import ROWS

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "promises.md").read_text()
PROMISED = re.findall(r"^\| (F\d{2,3}) \| [^|]+ \| [^|]+ \|$", PAGE, re.MULTILINE)


def test_every_fault_of_the_page_has_a_test_and_the_other_way_round():
    assert len(PROMISED) == len(set(PROMISED))
    assert sorted(PROMISED) == sorted(held())


def test_the_page_says_how_many_there_are():
    assert f"{len(PROMISED)} faults" in PAGE
    assert counted() in PAGE.replace("\n", " ")


NAMED = sorted({test for tests in ELSEWHERE.values() for test in tests.values()})


@pytest.mark.parametrize("named", NAMED)
def test_every_test_that_is_named_is_there(named):
    file, _, test = named.partition("::")
    tree = ast.parse((TESTS / file).read_text())
    assert test in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_a_test_that_carries_a_number_carries_one_of_the_page():
    for file in TESTS.rglob("test_*.py"):
        for number in re.findall(r"def test_f(\d{2,3})_", file.read_text()):
            assert f"F{number}" in PROMISED, file


def test_rows_are_named_after_faults_and_frameworks():
    assert {fault_of(name) for name in ROWS} <= set(PROMISED)
    assert {framework for row in ROWS.values() for framework in row.frameworks} == set(ALL)
