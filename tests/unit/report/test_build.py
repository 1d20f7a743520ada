"""The report, put together: units, sections that may be missing, and what feedwatch says of itself."""

from dataclasses import replace

import pytest

from feedwatch.advise.supply import supply
from feedwatch.model.account import GAP
from feedwatch.model.facts import DeviceFacts, HostFacts, Transfers
from feedwatch.model.pipeline import LoaderFacts, PipelineFacts, Stage, WorkerTime
from feedwatch.model.report import Status
from feedwatch.model.transfers import CopyTotals, DeviceTransfers, TransferSample
from feedwatch.report.build import Ingredients, OwnCost, build
from tests.fakes.reports import report
from tests.fakes.values import facts, run_facts
from tests.rules.build import case, loader, window

MS = 1_000_000


def test_the_share_is_that_of_the_training_thread_and_of_the_sinks_thread_together():
    alone = report(own=OwnCost(20_000.0, 0, 0), wall_ms=10).self_cost
    assert alone.overhead_ratio == pytest.approx(0.002)
    assert alone.us_per_step == 20.0
    measured_ns = report(wall_ms=10).steps.measured * 10 * MS
    together = report(own=OwnCost(20_000.0, round(0.003 * measured_ns), 0), wall_ms=10).self_cost
    assert together.overhead_ratio == pytest.approx(0.005)
    assert together.us_per_step == 20.0


def test_a_cost_that_was_not_measured_is_not_zero():
    unknown = report(own=OwnCost(None, 0, 0)).self_cost
    assert unknown.overhead_ratio is None
    assert unknown.us_per_step is None


def copied(**more):
    """Ten steps on one device: 20 copies, 100 MB, half of the copying hidden."""
    totals = CopyTotals(20, 100_000_000, 20.0 * MS)
    device = DeviceTransfers(
        "GPU:0", totals, {"pinned": totals}, totals, union_ns=20.0 * MS, hidden_ns=10.0 * MS, busy_ns=60.0 * MS,
        idle_share=0.4, steps=10, exposed_per_step_ns=1.0 * MS, **more,
    )  # fmt: skip
    sample = TransferSample("kineto", {device.name: device}, 10, 10.0 * MS, None, None)
    return Transfers("kineto", 2, sample, device.name)


def test_phases_are_medians_in_milliseconds_with_their_share_of_the_time():
    phases = report(wall_ms=10, wait_ms=4, h2d_ms=None, compute_ms=5).phases
    assert phases["input_wait"].ms == pytest.approx(4.0, rel=0.02)
    assert phases["input_wait"].share == pytest.approx(0.4)
    assert phases["h2d"] is None


def test_copies_are_told_per_step_and_in_everyday_units():
    section = report(known=facts(transfers=copied(), device=DeviceFacts(link_gb_per_s=25.0))).transfers
    assert (section.source, section.windows, section.copies, section.mb_per_step) == ("kineto", 2, 2.0, 10.0)
    assert section.gb_per_s == pytest.approx(5.0)
    assert (section.hidden_share, section.exposed_ms_per_step, section.link_gb_per_s) == (0.5, 1.0, 25.0)
    assert section.by_kind["pinned"].mb == 100.0


def test_copies_outside_whole_steps_belong_to_no_step():
    assert report(known=facts(transfers=copied(bytes_per_step=4e6))).transfers.mb_per_step == 4.0


def test_a_section_without_a_source_is_missing_and_not_zero():
    bare = report()
    assert bare.transfers is None
    assert bare.device is None
    assert bare.host.cpu_used is None


def test_idle_time_is_known_from_a_profiler_window_even_without_nvml():
    assert report(known=facts(transfers=copied())).device.idle_share == 0.4
    both = report(known=facts(transfers=copied(), device=DeviceFacts(utilisation=0.6))).device
    assert (both.utilisation, both.idle_share) == (0.6, 0.4)


def test_pipeline_and_host_come_through():
    worker, stage = WorkerTime(0, 10, 20.0, 1.0, 0.0), Stage("read items", ms_per_batch=20.0)
    loader = LoaderFacts(1, 2, False, False, 32, workers=(worker,))
    pipeline = PipelineFacts("dataloader", loader=loader, stages=(stage,), settings={"num_workers": 1})
    value = report(known=facts(pipeline=pipeline, host=HostFacts(cpu_budget=4.0, cpu_used=1.5)))
    assert (value.pipeline.kind, value.pipeline.stages, value.pipeline.workers) == ("dataloader", (stage,), (worker,))
    assert (value.host.cpu_budget, value.host.cpu_used) == (4.0, 1.5)


def test_notes_are_said_once_and_an_unread_pipeline_is_among_them():
    unread = replace(facts().pipeline, unknown_because="a generator")
    notes = report(known=facts(pipeline=unread, notes=("no GPU", "no GPU"))).self_cost.notes
    assert notes == ("no GPU", "the input pipeline was not read: a generator")


def test_a_run_that_waits_and_gets_no_change_says_why_nothing_was_compared():
    waiting = report(known=facts(pipeline=PipelineFacts("tf.data")), wall_ms=10, wait_ms=8, compute_ms=1)
    assert waiting.verdict.bound.value == "input"
    assert not waiting.findings
    assert "no change could be compared: the number of CPUs is not known" in waiting.model.note
    assert waiting.model.error is None


def test_a_run_that_does_not_wait_owes_no_explanation():
    assert report(wall_ms=10, wait_ms=0.1, compute_ms=9).model.note is None


@pytest.mark.parametrize(("backend", "clock"), [("torch", "device"), ("jax", "host")])
def test_a_clock_on_the_device_is_named_only_where_there_is_one(backend, clock):
    """JAX tells when a result is there, and the host's clock tells when that was."""
    made = report(known=facts(run=run_facts(backend=backend)), starved_ns=MS)
    assert made.clock == clock


def test_epochs_that_end_with_a_sleeping_tuner_are_named_with_the_way_around():
    seen = case(window(100, 60), loader=loader())
    known = supply(seen)
    stood_still = known.account.parts_ns | {GAP: known.account.wall_ns // 5}
    seen = replace(seen, account=replace(seen.account, parts_ns=stood_still))
    slept = replace(known, plan=replace(known.plan, asleep=0.6, epoch_batches=40.0))

    def notes(explained):
        own = OwnCost(None, 0, 0)
        parts = Ingredients(Status.FINISHED, seen, (), explained, report().series, own, now_s=200.0)
        return [note for note in build(parts).self_cost.notes if "tuner" in note]

    (note,) = notes(slept)
    assert "dataset.repeat() and steps_per_epoch=40" in note
    assert notes(known) == []
    assert notes(None) == []
    assert notes(replace(slept, plan=replace(slept.plan, asleep=0.1))) == []
