"""Which finding stands first."""

from dataclasses import replace

import pytest

from feedwatch.advise.ranking import Fired, combined_gain, ranked, worth_saying
from feedwatch.advise.registry import rule
from feedwatch.model.verdict import Basis, Evidence, Gain


def fired(code, low=None, high=None, edit_lines=None):
    one = rule(code) if edit_lines is None else replace(rule(code), edit_lines=edit_lines)
    return Fired(one, Evidence(""), None if low is None or high is None else Gain(low, high, Basis.PREDICTED, ""))


def codes(some):
    return [one.rule.code for one in some]


def test_the_largest_expected_gain_stands_first_and_notices_last():
    some = [fired("FW403"), fired("FW104", 1.1, 1.2), fired("FW101", 2.0, 3.0)]
    assert codes(ranked(some)) == ["FW101", "FW104", "FW403"]


def test_among_equals_the_smaller_edit_stands_first():
    some = [fired("FW107", 1.50, 1.51, edit_lines=9), fired("FW121", 1.50, 1.50, edit_lines=1)]
    assert codes(ranked(some)) == ["FW121", "FW107"]


def test_a_change_that_is_expected_to_save_less_than_five_percent_is_not_said():
    assert not worth_saying(fired("FW101", 1.0, 1.08))
    assert worth_saying(fired("FW101", 1.05, 1.08))
    assert worth_saying(fired("FW403"))


def test_fixes_for_one_wait_cannot_remove_more_than_that_wait():
    both = combined_gain(fired("FW101", 1.5, 2.0), fired("FW107", 1.3, 2.0), wait_share=0.6)
    assert both is not None
    assert both.high == pytest.approx(2.5)
    assert both.low == pytest.approx(1.5)


def test_fixes_for_different_parts_add_up():
    both = combined_gain(fired("FW101", 1.25, 1.25), fired("FW304", 1.25, 1.25), wait_share=0.2)
    assert both is not None
    assert both.high == pytest.approx(1 / 0.6)


def test_a_notice_has_nothing_to_combine():
    assert combined_gain(fired("FW101", 1.5, 2.0), fired("FW403"), 0.5) is None
