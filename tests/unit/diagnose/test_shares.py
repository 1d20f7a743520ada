from dataclasses import replace

import pytest

from feedwatch.diagnose.shares import exposed_ms_per_step, shares, with_sampled_copies
from feedwatch.model.facts import Transfers
from feedwatch.model.transfers import CopyTotals, DeviceTransfers, TransferSample
from tests.fakes.reports import course
from tests.fakes.values import facts, run_facts
from tests.rules.build import EpochBoundaries, account, window


def sampled(exposed_ms):
    copies = CopyTotals(1, 1000, 1.0)
    device = DeviceTransfers(
        "GPU:0", copies, {}, copies, 1.0, 0.0, 1.0, None, steps=5, exposed_per_step_ns=exposed_ms * 1e6
    )
    sample = TransferSample("xspace", {"GPU:0": device}, 5, 10e6, None, None)
    run = run_facts(device="cuda:0", device_kind="cuda")
    return facts(run=run, transfers=Transfers("xspace", 1, sample, "GPU:0"))


def shared(run, known, epochs=EpochBoundaries()):  # noqa: B008 -- a frozen value
    return shares(run, known, account(run, epochs))


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
    seen = shared(window(100, 60, other_ms=10, h2d_ms=5), facts())
    assert (seen.input, seen.host) == (pytest.approx(0.6), pytest.approx(0.1))
    assert seen.transfer is None
    assert seen.launch is None


def test_a_copy_counts_only_where_a_device_clock_or_a_profiler_saw_it():
    assert shared(window(100, 1, h2d_ms=30, starved_ms=1), facts()).transfer == pytest.approx(0.3)
    assert exposed_ms_per_step(sampled(3)) == 3.0
    assert shared(window(10, 1), sampled(3)).transfer == pytest.approx(0.3)


def test_what_no_loop_can_avoid_is_no_loss():
    seen = shared(window(1.0, 0.1, other_ms=0.5), facts())
    assert (seen.input, seen.host) == (0.0, 0.0)


def test_shares_are_of_the_whole_run_with_its_epoch_starts_and_gaps():
    slow = EpochBoundaries(count=2, median_ms=6000.0, loader_start_ms=0.0, first_fetch_ms=4000.0)
    seen = shared(window(100, 0, other_ms=0.0), facts(run=run_facts(backend="torch")), slow)
    assert seen.input == pytest.approx(0.25)  # 20 s of steps, 8 s of starts, 4 s of gaps
    assert seen.host == pytest.approx(0.125)
    # TensorFlow ends the old iterator there, which waits for the input.
    assert shared(window(100, 0, other_ms=0.0), facts(), slow).host == 0.0


def test_a_window_does_not_overrule_the_devices_clock():
    """The host ran ahead: the few steps of the window held a fifth of the copies that every step has."""
    run = window(100, 1, h2d_ms=30, starved_ms=1)
    assert shared(run, sampled(6)).transfer == pytest.approx(0.3)


def busy(known, busy_ms, idle_share):
    (device,) = known.transfers.sample.devices.values()
    seen = replace(device, busy_per_step_ns=busy_ms * 1e6, idle_share=idle_share)
    sample = replace(known.transfers.sample, devices={"GPU:0": seen})
    return replace(known, transfers=replace(known.transfers, sample=sample))


def test_a_profiler_that_slows_the_steps_does_not_make_the_device_idle():
    """In its window the device idled 40 % of a step that took twice as long; of a usual step it idles 5 %."""
    run = window(10, 0, starved_ms=0)
    assert shared(run, busy(sampled(0), busy_ms=9.5, idle_share=0.4)).launch == pytest.approx(0.05)
    assert shared(run, busy(sampled(0), busy_ms=3, idle_share=0.7)).launch == pytest.approx(0.7)
