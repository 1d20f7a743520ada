"""What a change is worth when it takes something out of the run."""

import pytest

from feedwatch.advise.gains import MOST, batches_per_step, gain, removed
from tests.rules.build import case, window


def test_a_gain_lies_between_the_worst_and_the_best():
    found = gain(100.0, 50.0, 80.0, "because")
    assert (found.low, found.high) == (pytest.approx(1.25), pytest.approx(2.0))
    assert found.because == "because"


def test_no_change_makes_training_faster_than_the_most():
    assert gain(100.0, -5.0, 0.0, "").high == pytest.approx(MOST)


def test_the_low_end_may_be_a_loss():
    assert gain(100.0, 90.0, 125.0, "").low == pytest.approx(0.8)


def test_what_is_removed_is_a_part_of_the_whole_run():
    account = case(window(100, 60)).account
    found = removed(account, 0.5 * account.batch_ms, 0.2 * account.batch_ms, "")
    assert (found.low, found.high) == (pytest.approx(1.25), pytest.approx(2.0))


def test_several_batches_may_make_one_step():
    assert batches_per_step(case(window(steps=10, batches=40))) == 4.0
    assert batches_per_step(case(None)) == 1.0
