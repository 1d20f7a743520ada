"""Step records and windows: phases add up, and unknown stays unknown."""

import pytest

from feedwatch.model.steps import COMPUTE, H2D, INPUT_WAIT, OTHER, PHASES, PhaseTime, StepKind, StepRecord, Window


def window(wait_ns=400, wall_ns=1000, **more):
    wait = None if wait_ns is None else PhaseTime(wait_ns, wait_ns, None)
    phases = {INPUT_WAIT: wait, H2D: None, COMPUTE: None, OTHER: None}
    return Window(1, 2, 2, 2, None, wall_ns, PhaseTime(wall_ns, wall_ns / 2, None), phases, **more)


def test_what_nobody_claimed_is_other_and_not_compute():
    assert StepRecord(1, 100, 30, 10, 40).other_ns == 20
    assert StepRecord(1, 100, None, None, 40).other_ns == 60


def test_claims_beyond_the_wall_time_leave_no_negative_rest():
    assert StepRecord(1, 100, 90, None, 40).other_ns == 0


def test_a_record_is_a_steady_step_of_one_batch_unless_somebody_says_otherwise():
    record = StepRecord(1, 100, None, None, None)
    assert (record.kind, record.batches, record.samples) == (StepKind.STEADY, 1, None)


def test_there_are_four_phases():
    assert PHASES == ("input_wait", "h2d", "compute", "other")


def test_a_share_of_no_time_is_no_division_by_zero():
    assert PhaseTime(5, 5, None).share_of(0) == 0.0
    assert PhaseTime(5, 5, None).share_of(20) == 0.25


def test_the_stall_is_the_loops_wait_unless_a_device_clock_ran():
    assert window().stall_ratio == 0.4
    assert window(starved_ns=100).stall_ratio == 0.1
    assert window(starved_ns=0).stall_ratio == 0.0


@pytest.mark.parametrize("unknown", [window(wait_ns=None), window(wall_ns=0)])
def test_a_stall_that_was_not_measured_is_unknown(unknown):
    assert unknown.stall_ratio is None


def test_a_window_with_a_reason_for_distrust_is_not_trusted():
    assert window().trusted
    assert not window(distrust=("the clock went back",)).trusted
