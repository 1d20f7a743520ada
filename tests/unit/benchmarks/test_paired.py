"""Pairing: only what differs within a round counts."""

import pytest

from benchmarks.paired import compared, differences, paired, rotated, spread


def test_a_machine_that_gets_slower_does_not_change_a_paired_difference():
    base = [100.0, 200.0, 400.0, 800.0]
    variant = [value + 7 for value in base]
    assert paired(variant, base).median == pytest.approx(7)
    assert paired(variant, base).low == paired(variant, base).high


def test_one_disturbed_round_does_not_move_the_median():
    assert paired([107.0, 107.0, 900.0, 107.0, 107.0], [100.0] * 5).median == pytest.approx(7)


def test_rounds_of_different_number_are_refused():
    with pytest.raises(ValueError, match="zip"):
        differences([1.0, 2.0], [1.0])


def test_every_variant_starts_a_round_in_turn():
    names = ["a", "b", "c"]
    assert [rotated(names, turn)[0] for turn in range(4)] == ["a", "b", "c", "a"]
    assert sorted(rotated(names, 2)) == names


def test_the_spread_of_one_value_is_that_value():
    assert spread([3.0]).as_dict() == {"median": 3.0, "low": 3.0, "high": 3.0}


def test_a_variant_is_compared_with_its_own_base():
    taken = {
        "bare": [{"us": 10.0}, {"us": 12.0}],
        "logged": [{"us": 20.0}, {"us": 22.0}],
        "monitor": [{"us": 25.0}, {"us": 27.0}],
    }
    table = compared(taken, {"logged": "bare", "monitor": "logged"})
    assert "adds" not in table["bare"]
    assert table["logged"]["adds"]["us"]["median"] == 10
    assert table["monitor"]["adds"]["us"]["median"] == 5
    assert table["monitor"]["against"] == "logged"
