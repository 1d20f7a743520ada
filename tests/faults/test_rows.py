"""Every fault of `rows.py` in every framework: each in a process of its own, with a hard limit."""

import shutil

import pytest

from feedwatch.report.load import load_run
from tests.faults.benches import ALL
from tests.faults.rows import ROWS

CASES = [(name, framework) for framework in ALL for name, row in ROWS.items() if framework in row.frameworks]
# What a row tells by itself, besides what belongs to it alone.
TRAINED = {"weights", "next draw", "error", "threads", "files", "quiet", "time"}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.alone]


@pytest.mark.parametrize(
    ("name", "framework"),
    [pytest.param(*case, marks=pytest.mark.plays(*case), id="-".join(case)) for case in CASES],
)
def test_nothing_is_lost_and_nothing_changes(name, framework, answers):
    row = ROWS[name]
    if row.stalls and shutil.which("gcc") is None:
        pytest.skip("no gcc to build the disk that stalls with")
    found, where = answers(name, framework)
    if row.dies is not None:
        assert found == {"exit": row.dies}
        assert load_run(where).status.value in row.status
        return
    assert found.pop("exit", None) == 0
    wrong = {what: held for what, held in found.items() if held is not True}
    assert wrong == {}
    assert expected_of(row) <= set(found)


def expected_of(row):
    """No row may leave out a check silently."""
    if row.alone is not None:
        return set()
    told = TRAINED - ({"weights", "next draw"} if row.ours_raises or row.asynchronous else set())
    return told | ({"status"} if row.status else set()) | ({"next fit"} if row.next_fit else set())


def test_every_framework_has_its_rows():
    for framework in ALL:
        assert len([name for name, of in CASES if of == framework]) >= 40
