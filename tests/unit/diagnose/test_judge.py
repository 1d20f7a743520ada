from dataclasses import replace

import pytest

from feedwatch.diagnose.judge import judge
from feedwatch.model.facts import DeviceFacts, Transfers
from feedwatch.model.pipeline import PipelineFacts
from feedwatch.model.transfers import CopyTotals, DeviceTransfers, TransferSample
from feedwatch.model.verdict import Bound
from tests.fakes.reports import course
from tests.fakes.values import facts, run_facts
from tests.rules.build import EpochBoundaries, account, window

GPU = run_facts(device="cuda:0", device_kind="cuda")


def verdict(known=None, steps=40, slices=4, **phases):
    return judged(course(steps, slices, gap_ns=0, **phases), known or facts())


def judged(measured, known, ceiling=None):
    return judge(measured.run(), known, measured.account(), ceiling)


def transfers(exposed_ms=0.0, idle_share=None, steps=10):
    copies = CopyTotals(10, 10_000_000, exposed_ms * 1e6 * steps)
    device = DeviceTransfers(
        "GPU:0",
        copies,
        {"pageable": copies},
        copies,
        copies.time_ns,
        0.0,
        1e8,
        idle_share,
        steps=steps,
        exposed_per_step_ns=exposed_ms * 1e6,
    )
    sample = TransferSample("kineto", {"GPU:0": device}, steps, 10e6, None, None)
    return Transfers("kineto", 1, sample, "GPU:0")


def test_half_the_time_waiting_is_input_bound_with_a_ceiling_of_two():
    seen = verdict(wall_ms=10, wait_ms=5, compute_ms=5)
    assert seen.bound is Bound.INPUT
    assert seen.stall_ratio == pytest.approx(0.5)
    assert seen.ceiling_speedup == pytest.approx(2.0)
    assert "waits for data 50 % of the time" in seen.title


def test_the_models_ceiling_counts_where_it_is_higher():
    """The input takes the step's CPUs as well: without it the run gains more than its waiting."""
    measured = course(wall_ms=10, wait_ms=5, compute_ms=5)
    assert judged(measured, facts(), 3.0).ceiling_speedup == 3.0
    assert judged(measured, facts(), 1.2).ceiling_speedup == pytest.approx(2.0, rel=0.02)


def test_waiting_at_epoch_starts_counts_as_waiting_in_steps_does():
    run = window(100, 1)
    slow = EpochBoundaries(count=4, median_ms=5000.0, loader_start_ms=0.0, first_fetch_ms=5000.0)
    seen = judge(run, facts(), account(run, slow))
    assert seen.bound is Bound.INPUT
    assert "epoch starts" in seen.detail
    assert judge(run, facts(), account(run, EpochBoundaries())).bound is Bound.COMPUTE


def test_a_busy_step_is_compute_bound():
    assert verdict(wall_ms=10, wait_ms=0.3, compute_ms=9.5).bound is Bound.COMPUTE


@pytest.mark.parametrize(("wait_ms", "bound"), [(0.98, Bound.COMPUTE), (1.02, Bound.INPUT)])
def test_a_tenth_of_the_run_bounds_it(wait_ms, bound):
    assert verdict(wall_ms=10, wait_ms=wait_ms, compute_ms=10 - wait_ms).bound is bound


def test_handing_over_a_ready_batch_is_not_waiting_for_input():
    assert verdict(wall_ms=0.6, wait_ms=0.09, compute_ms=0.5).bound is Bound.COMPUTE


def test_time_between_steps_is_host_bound():
    seen = verdict(wall_ms=20, wait_ms=0.1, compute_ms=10)
    assert seen.bound is Bound.HOST


def test_the_bare_loop_of_a_tiny_model_is_not_host_bound():
    assert verdict(wall_ms=1.0, wait_ms=0.05, compute_ms=0.5).bound is Bound.COMPUTE


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_too_few_steady_steps_are_unknown(steps):
    seen = judged(course(steps, 1), facts()) if steps else judge(None, facts(), None)
    assert seen.bound is Bound.UNKNOWN
    assert seen.stall_ratio is None


def test_an_unmeasured_wait_is_unknown_not_compute():
    assert verdict(wait_ms=None).bound is Bound.UNKNOWN


def test_on_a_device_clock_a_host_wait_while_the_device_is_busy_is_not_input_bound():
    run = course(wall_ms=10, wait_ms=0.0, compute_ms=9.8, starved_ns=0, host_wait_ns=6_000_000)
    seen = judged(run, facts(run=GPU))
    assert seen.bound is Bound.COMPUTE
    assert seen.stall_ratio == 0.0


def test_a_starved_device_is_named():
    run = course(wall_ms=10, wait_ms=5, compute_ms=5, starved_ns=5_000_000, host_wait_ns=5_000_000)
    assert judged(run, facts(run=GPU)).title.startswith("The GPU waits")


def test_exposed_copies_are_transfer_bound():
    known = facts(run=GPU, transfers=transfers(exposed_ms=3))
    assert verdict(known, wall_ms=10, wait_ms=0.1, compute_ms=9.8).bound is Bound.TRANSFER


def test_an_idle_device_with_its_batch_there_is_launch_bound():
    known = facts(run=GPU, transfers=transfers(exposed_ms=0.01, idle_share=0.8))
    assert verdict(known, wall_ms=10, wait_ms=0.05, compute_ms=9.9).bound is Bound.LAUNCH


def test_idle_time_that_is_waiting_for_input_is_not_launch_bound():
    known = facts(run=GPU, transfers=transfers(idle_share=0.52))
    assert verdict(known, wall_ms=10, wait_ms=5, compute_ms=5).bound is Bound.INPUT


def test_without_an_idle_share_launch_is_not_guessed():
    known = facts(run=GPU, device=DeviceFacts(utilisation=0.1))
    assert verdict(known, wall_ms=10, wait_ms=0.05, compute_ms=9.9).bound is Bound.COMPUTE


def test_headroom_is_the_rest_of_the_step_over_the_pipelines_time_per_batch():
    pipeline = PipelineFacts(kind="dataloader", load_ms=20.0, lanes=4)
    seen = verdict(replace(facts(), pipeline=pipeline), wall_ms=10, wait_ms=3, compute_ms=7)
    assert seen.headroom == pytest.approx(7 / 5)
