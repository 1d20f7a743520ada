import pytest

from feedwatch.diagnose.shares import exposed_ms_per_step, shares, with_sampled_copies
from feedwatch.model.facts import Transfers
from feedwatch.model.transfers import CopyTotals, DeviceTransfers, TransferSample
from tests.fakes.reports import course
from tests.fakes.values import facts, run_facts
from tests.rules.build import window


def sampled(exposed_ms):
    copies = CopyTotals(1, 1000, 1.0)
    device = DeviceTransfers(
        "GPU:0", copies, {}, copies, 1.0, 0.0, 1.0, None, steps=5, exposed_per_step_ns=exposed_ms * 1e6
    )
    sample = TransferSample("xspace", {"GPU:0": device}, 5, 10e6, None, None)
    run = run_facts(device="cuda:0", device_kind="cuda")
    return facts(run=run, transfers=Transfers("xspace", 1, sample, "GPU:0"))


def test_copies_seen_by_the_profiler_come_out_of_compute_and_the_phases_still_add_up():
    run = with_sampled_copies(course(wall_ms=10, wait_ms=2, compute_ms=8).run(), sampled(3))
    assert run.phases["h2d"].median_ns == pytest.approx(3e6)
    assert run.phases["h2d"].p95_ns is None
    assert run.phases["compute"].median_ns == pytest.approx(5e6, rel=0.05)
    assert sum(time.total_ns for time in run.phases.values()) == run.wall_ns


def test_copies_that_a_clock_saw_stay_as_they_are():
    run = course(h2d_ms=1).run()
    assert with_sampled_copies(run, sampled(3)) is run


def test_without_a_profiler_the_copy_stays_unknown():
    run = course(h2d_ms=None).run()
    assert with_sampled_copies(run, facts()) is run


def test_a_sample_longer_than_compute_does_not_make_compute_negative():
    run = with_sampled_copies(course(wall_ms=10, wait_ms=8, compute_ms=2).run(), sampled(50))
    assert run.phases["compute"].total_ns >= 0
    assert sum(time.total_ns for time in run.phases.values()) == run.wall_ns


def test_the_shares_of_a_run_are_those_of_its_phases():
    seen = shares(window(100, 60, other_ms=10, h2d_ms=5), facts())
    assert (seen.input, seen.host) == (pytest.approx(0.6), pytest.approx(0.1))
    assert seen.transfer is None
    assert seen.launch is None


def test_a_copy_counts_only_where_a_device_clock_or_a_profiler_saw_it():
    assert shares(window(100, 1, h2d_ms=30, starved_ms=1), facts()).transfer == pytest.approx(0.3)
    assert exposed_ms_per_step(sampled(3)) == 3.0
    assert shares(window(10, 1), sampled(3)).transfer == pytest.approx(0.3)


def test_what_no_loop_can_avoid_is_no_loss():
    seen = shares(window(1.0, 0.1, other_ms=0.5), facts())
    assert (seen.input, seen.host) == (0.0, 0.0)
