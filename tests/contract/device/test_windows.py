"""Profiler windows of torch on the emulated device, asked for by name."""

import pytest

from feedwatch.hooks.torch.profiler import TorchProfiler, plain_events
from feedwatch.model.steps import StepKind
from tests.contract.device.scenes import Scene, fit

pytestmark = pytest.mark.filterwarnings("ignore")


def test_an_event_tells_its_bytes_in_this_process(emulated):
    """Since torch 2.13 only on request; without it every window went through a file."""
    import torch

    profiler = TorchProfiler()
    profiler.start()
    profiler.step(1)
    torch.zeros(250_000).to("emulated")
    recording = profiler.stop()
    copies = [event for event in plain_events(recording._results.events()) if event.category == "gpu_memcpy"]
    assert [copy.size_bytes for copy in copies] == [1_000_000]


def test_a_host_that_runs_ahead_does_not_make_copies_smaller(emulated, tmp_path):
    emulated.settings.pinned_gb_per_s = 1.0
    outcome = fit(Scene(mb=4, pin=True, kernel_ms=12, load_ms=0), tmp_path, profile=True)
    assert outcome.report.transfers.mb_per_step == pytest.approx(4, rel=0.05)
    assert outcome.report.transfers.by_kind.keys() == {"pinned"}


def test_steps_that_a_window_touches_are_in_no_steady_figure(emulated, tmp_path):
    emulated.settings.profiler_start_ms = emulated.settings.profiler_stop_ms = 150
    steps = 160  # long enough for a window to begin and to be read
    outcome = fit(Scene(kernel_ms=6, pin=True, load_ms=0, steps=steps), tmp_path, profile=True)
    kinds = [record.kind for record in outcome.records]
    assert kinds.count(StepKind.PROFILED) >= 6
    slowest = max(record.wall_ns for record in outcome.records if record.kind is StepKind.STEADY)
    assert slowest < 150e6
    assert outcome.report.self_cost.us_per_step > 300_000 / steps / 2
