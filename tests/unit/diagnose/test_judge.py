from dataclasses import replace

import pytest

from feedwatch.diagnose.judge import judge
from feedwatch.model.facts import DeviceFacts, Transfers
from feedwatch.model.pipeline import PipelineFacts
from feedwatch.model.transfers import CopyTotals, DeviceTransfers, TransferSample
from feedwatch.model.verdict import Bound
from tests.fakes.reports import course
from tests.fakes.values import facts, run_facts

GPU = run_facts(device="cuda:0", device_kind="cuda")


def verdict(known=None, steps=40, slices=4, **phases):
    return judge(course(steps, slices, **phases).run(), known or facts())


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


def test_a_busy_step_is_compute_bound():
    assert verdict(wall_ms=10, wait_ms=0.3, compute_ms=9.5).bound is Bound.COMPUTE


@pytest.mark.parametrize(("wait_ms", "bound"), [(0.49, Bound.COMPUTE), (0.51, Bound.INPUT)])
def test_five_percent_is_worth_saying(wait_ms, bound):
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
    seen = judge(course(steps, 1).run(), facts()) if steps else judge(None, facts())
    assert seen.bound is Bound.UNKNOWN
    assert seen.stall_ratio is None


def test_an_unmeasured_wait_is_unknown_not_compute():
    assert verdict(wait_ms=None).bound is Bound.UNKNOWN


def test_on_a_device_clock_a_host_wait_while_the_device_is_busy_is_not_input_bound():
    run = course(wall_ms=10, wait_ms=0.0, compute_ms=9.8, starved_ns=0, host_wait_ns=6_000_000).run()
    seen = judge(run, facts(run=GPU))
    assert seen.bound is Bound.COMPUTE
    assert seen.stall_ratio == 0.0


def test_a_starved_device_is_named():
    run = course(wall_ms=10, wait_ms=5, compute_ms=5, starved_ns=5_000_000, host_wait_ns=5_000_000).run()
    assert judge(run, facts(run=GPU)).title.startswith("The GPU waits")


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
