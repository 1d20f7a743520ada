import pytest

from feedwatch.tab.rank_groups import MAX_SIBLINGS, group_of, grouped, one_of_many, siblings_of, with_ranks
from tests.tab import reports


def test_a_run_of_one_rank_belongs_to_nobody():
    assert group_of("a/b", 1) is None
    assert group_of("a/b", None) is None
    assert group_of("a/rank0", 2) == "a"


def test_a_report_that_holds_its_ranks_already_is_left_alone():
    assert not one_of_many(reports.rank(0) | {"ranks": {"count": 4}})
    assert not one_of_many(reports.workers2())


def test_a_group_of_one_is_no_group():
    rows = [{"run": "a/rank0", "world_size": 4}, {"run": "b", "world_size": 1}]
    assert [row["group"] for row in grouped(rows)] == [None, None]


def test_every_rank_is_shown_beside_the_others_with_a_way_to_it():
    runs = {f"a/rank{number}": reports.rank(number) for number in range(3)}
    first = runs["a/rank0"]
    assert one_of_many(first)
    rows = {name: {"world_size": 4} for name in [*runs, "b/rank0"]} | {"alone": {"world_size": 1}}
    assert siblings_of("a/rank0", first, rows) == list(runs)
    ranks = with_ranks("a/rank0", first, runs)["ranks"]
    assert (ranks["count"], ranks["world_size"], ranks["missing"]) == (3, 4, 1)
    assert [line["run"] for line in ranks["lines"]] == ["a/rank2", "a/rank1", "a/rank0"]


def test_a_damaged_sibling_costs_the_comparison_not_the_page():
    broken = reports.rank(1) | {"phases": "gone"}
    report = reports.rank(0)
    assert with_ranks("a/rank0", report, {"a/rank0": report, "a/rank1": broken}) == report


HOSTILE = [
    {"run": {"rank": [1], "world_size": 4}},
    {"run": {"rank": {"a": 1}, "world_size": 4}},
    {"run": {"rank": 1, "world_size": 4, "started": 10**400}},
    {"run": {"rank": 1, "world_size": 4, "started": float("nan")}},
    {"run": None},
    {"verdict": []},
]


@pytest.mark.parametrize("damage", HOSTILE, ids=["list", "object", "digits", "nan", "no run", "no verdict"])
def test_a_damaged_sibling_is_missing_and_the_others_are_compared(damage):
    runs = {f"a/rank{number}": reports.rank(number) for number in range(3)} | {"a/rank3": reports.rank(3) | damage}
    ranks = with_ranks("a/rank0", runs["a/rank0"], runs)["ranks"]
    assert (ranks["count"], ranks["missing"]) == (3, 1)


@pytest.mark.parametrize("damage", HOSTILE, ids=["list", "object", "digits", "nan", "no run", "no verdict"])
def test_a_damaged_report_is_shown_without_a_comparison(damage):
    runs = {f"a/rank{number}": reports.rank(number) for number in range(3)}
    damaged = runs["a/rank0"] | damage
    assert with_ranks("a/rank0", damaged, runs) is damaged


def test_so_many_siblings_are_opened(monkeypatch):
    rows = {f"a/{number}": {"world_size": 4} for number in range(MAX_SIBLINGS + 50)}
    assert len(siblings_of("a/0", reports.rank(0), rows)) == MAX_SIBLINGS
