"""Each fault switch does what it says, and reset mends it."""

import math
import threading
import time

import pytest
import torch
from torch.autograd import profiler as autograd_profiler


def in_a_thread(action):
    """Starts it, and returns the thread with what it raised."""
    raised = []

    def run():
        try:
            action()
        except RuntimeError as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, raised


def test_an_event_that_never_completes(emulated):
    emulated.faults.events_never_complete = 1
    lost, kept = torch.Event(device="emulated"), torch.Event(device="emulated")
    lost.record()
    kept.record()
    kept.synchronize()
    assert not lost.query()
    thread, _raised = in_a_thread(lost.synchronize)
    thread.join(0.05)
    assert thread.is_alive()
    emulated.reset()
    thread.join(10)
    assert not thread.is_alive()


def test_a_kernel_that_never_ends(emulated):
    torch.emulated.kernel(math.inf)
    event = torch.Event(device="emulated")
    event.record()
    assert not event.query()
    emulated.reset()
    torch.accelerator.synchronize()
    assert emulated.operations() == []


def test_a_lost_device_raises_at_every_call(emulated):
    tensor, stream = torch.ones(4, device="emulated"), torch.Stream(device="emulated")
    event, recorded = torch.Event(device="emulated"), torch.Event(device="emulated")
    recorded.record()
    emulated.faults.lose_device(0)
    calls = [
        lambda: torch.emulated.kernel(1),
        torch.accelerator.synchronize,
        stream.synchronize,
        recorded.query,
        recorded.synchronize,
        event.record,
        lambda: torch.ones(4).to("emulated"),
        tensor.cpu,
        tensor[0].item,
        lambda: tensor + 1,
        lambda: torch.empty(4, device="emulated"),
        torch.emulated.mem_get_info,
        torch.ones(4).pin_memory,
    ]
    for call in calls:
        with pytest.raises(torch.AcceleratorError, match="device 0 is lost"):
            call()
    assert torch.ones(4, device="emulated:1").sum().item() == 4


def test_a_device_lost_during_a_wait_raises_in_the_waiting_thread(emulated):
    torch.emulated.kernel(math.inf)
    thread, raised = in_a_thread(torch.accelerator.synchronize)
    time.sleep(0.02)
    emulated.faults.lose_device(0)
    thread.join(10)
    assert isinstance(raised[0], torch.AcceleratorError)


def test_a_destroyed_stream_raises_and_leaves_the_others_alone(emulated):
    stream = torch.Stream(device="emulated")
    emulated.faults.destroy_stream(0, stream.stream_id)
    with pytest.raises(torch.AcceleratorError, match="invalid resource handle"):
        torch.Event(device="emulated").record(stream)
    with stream, pytest.raises(torch.AcceleratorError, match="invalid resource handle"):
        torch.emulated.kernel(1)
    torch.emulated.kernel(1)
    torch.accelerator.synchronize()


def test_memory_full_at_the_next_event(emulated):
    known = torch.Event(device="emulated")
    known.record()
    emulated.faults.events_out_of_memory = 1
    known.record()  # no new one is needed for it
    fresh = torch.Event(device="emulated")
    with pytest.raises(torch.OutOfMemoryError, match="Tried to create an event"):
        fresh.record()
    fresh.record()


def test_a_graph_capture_in_progress(emulated):
    event = torch.Event(device="emulated")
    event.record()
    assert not torch.emulated.is_current_stream_capturing()
    emulated.faults.capturing = True
    assert torch.emulated.is_current_stream_capturing()
    forbidden = [
        event.query,
        event.synchronize,
        torch.accelerator.synchronize,
        torch.accelerator.current_stream().synchronize,
        lambda: torch.ones(4).to("emulated"),
    ]
    for call in forbidden:
        with pytest.raises(torch.AcceleratorError, match="not permitted when stream is capturing"):
            call()
    assert emulated.counters().forbidden_during_capture == len(forbidden)
    torch.emulated.kernel(1)


def test_a_profiler_whose_start_raises_leaves_the_next_one_whole(emulated):
    emulated.faults.profiler_start = emulated.ProfilerStart.RAISES
    with pytest.raises(RuntimeError, match="insufficient privileges"):
        autograd_profiler.profile(use_kineto=True, use_device="emulated").__enter__()
    emulated.faults.profiler_start = emulated.ProfilerStart.WORKS
    with autograd_profiler.profile(use_kineto=True, use_device="emulated") as profiler:
        torch.emulated.kernel(1, "recorded")
    assert "recorded" in {it.name() for it in profiler.kineto_results.events()}


def test_a_profiler_whose_start_hangs(emulated):
    emulated.faults.profiler_start = emulated.ProfilerStart.HANGS
    profiler = autograd_profiler.profile(use_kineto=True, use_device="emulated")
    thread, _raised = in_a_thread(profiler.__enter__)
    thread.join(0.1)
    assert thread.is_alive()
    emulated.reset()
    thread.join(10)
    assert not thread.is_alive()


def test_reset_restores_settings(emulated):
    emulated.settings.pinned_gb_per_s = 1
    emulated.settings.spin = True
    emulated.reset()
    assert emulated.settings.pinned_gb_per_s == 12
    assert not emulated.settings.spin
    with pytest.raises(AttributeError):
        emulated.settings.no_such_setting = 1
