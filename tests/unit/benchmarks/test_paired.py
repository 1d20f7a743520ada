"""Pairing: only what differs within a round counts."""

import pytest

from benchmarks.paired import compared, differences, paired, spread, take_pair


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


def test_the_two_fits_of_a_pair_take_turns_who_is_first():
    ran = []

    def fit(name):
        ran.append(name)
        return {"us": 1.0}

    for turn in range(2):
        take_pair(lambda: fit("with"), lambda: fit("without"), turn)
    assert ran == ["with", "without", "without", "with"]


def test_the_spread_of_one_value_is_that_value():
    assert spread([3.0]).as_dict() == {"median": 3.0, "low": 3.0, "high": 3.0}


def test_a_comparison_holds_both_sides_and_their_difference():
    pairs = [({"us": 25.0}, {"us": 20.0}), ({"us": 45.0}, {"us": 40.0})]
    row = compared(pairs, "logged")
    assert (row["is"]["us"], row["base"]["us"], row["adds"]["us"]["median"]) == (35, 30, 5)
    assert (row["against"], row["pairs"]) == ("logged", 2)
