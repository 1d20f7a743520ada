"""Copies as a profiler saw them."""

import pytest

from feedwatch.model.transfers import CopyTotals, DeviceTransfers, TransferSample

NONE = CopyTotals(0, 0, 0.0)


def sample(**more):
    values = {"steps": 4, "step_ns": 100.0, "input_wait_ns": 80.0, "input_wait_idle_ns": None} | more
    return TransferSample("kineto", {}, **values)


def test_speed_is_weighted_by_bytes():
    assert CopyTotals(2, 3_000_000_000, 1_000_000_000.0).gb_per_s == 3.0
    assert NONE.gb_per_s is None


def test_what_no_kernel_hides_is_exposed():
    device = DeviceTransfers("GPU:0", NONE, {}, NONE, union_ns=10.0, hidden_ns=4.0, busy_ns=0.0, idle_share=None)
    assert (device.exposed_ns, device.hidden_share) == (6.0, 0.4)


def test_without_copies_the_hidden_share_is_unknown():
    device = DeviceTransfers("GPU:0", NONE, {}, NONE, union_ns=0.0, hidden_ns=0.0, busy_ns=0.0, idle_share=None)
    assert (device.exposed_ns, device.hidden_share) == (0.0, None)


def test_the_wait_is_a_share_of_the_steps_and_only_of_them():
    assert sample().input_wait_share == 0.2
    assert sample(step_wait_ns=40.0).input_wait_share == 0.1


@pytest.mark.parametrize("unknown", [{"steps": 0}, {"step_ns": None}, {"input_wait_ns": None}])
def test_a_share_of_unknown_steps_is_unknown(unknown):
    assert sample(**unknown).input_wait_share is None
