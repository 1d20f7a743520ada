"""Which findings are shown, and which stands first."""

from dataclasses import replace

import pytest

from feedwatch.advise.ranking import Fired, expected, one_per_knob, ranked, worth_saying
from feedwatch.advise.registry import rule
from feedwatch.advise.rule import Found
from feedwatch.model.verdict import Basis, Gain


def fired(code, low=None, high=None, **changes):
    """`changes`: to the rule."""
    gain = None if low is None or high is None else Gain(low, high, Basis.PREDICTED, "")
    return Fired(replace(rule(code), **changes), Found("", "", {}, "", "", gain))


def codes(some):
    return [one.rule.code for one in some]


def test_the_largest_expected_gain_stands_first_and_notices_last():
    some = [fired("FW403"), fired("FW304", 1.1, 1.2), fired("FW302", 2.0, 3.0)]
    assert codes(ranked(some)) == ["FW302", "FW304", "FW403"]


def test_among_equals_the_smaller_edit_stands_first():
    some = [fired("FW203", 1.50, 1.51, edit_lines=9), fired("FW204", 1.50, 1.50, edit_lines=1)]
    assert codes(ranked(some)) == ["FW204", "FW203"]


def test_a_change_is_said_when_the_low_end_of_its_range_is_worth_it():
    assert not worth_saying(fired("FW302", 1.0, 9.0))
    assert not worth_saying(fired("FW302", 1.049, 1.5))
    assert worth_saying(fired("FW302", 1.05, 1.08))
    assert worth_saying(fired("FW403"))


def test_of_several_changes_to_one_knob_the_first_stays():
    some = [fired("FW302", 2.0, 2.0, knob="k"), fired("FW304", 1.5, 1.5, knob="j"), fired("FW306", 1.2, 1.2, knob="k")]
    assert codes(one_per_knob(some)) == ["FW302", "FW304"]


def test_a_notice_turns_no_knob():
    some = [fired("FW207", 2.0, 2.0), fired("FW208"), fired("FW401"), fired("FW403")]
    assert codes(one_per_knob(some)) == ["FW207", "FW208", "FW401", "FW403"]


def test_expected_is_the_middle_between_two_factors():
    assert expected(Gain(1.0, 4.0, Basis.PREDICTED, "")) == pytest.approx(2.0)
