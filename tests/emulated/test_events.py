"""Events tell the device's time, and only once they have passed."""

import math
import time

import pytest
import torch

MS = 1_000_000


def timing_event():
    return torch.Event(device="emulated", enable_timing=True)


def test_elapsed_time_is_the_device_time_between_two_events(emulated):
    torch.emulated.kernel(10)
    begin, end = timing_event(), timing_event()
    begin.record()
    torch.emulated.kernel(25)
    end.record()
    end.synchronize()
    assert begin.elapsed_time(end) == pytest.approx(25, abs=1e-3)


def test_a_host_pause_shows_on_an_idle_device_and_not_on_a_busy_one(emulated):
    def pause_between_events():
        begin, end = timing_event(), timing_event()
        begin.record()
        time.sleep(0.006)
        end.record()
        torch.accelerator.synchronize()
        return begin.elapsed_time(end)

    assert pause_between_events() >= 6
    torch.emulated.kernel(300)
    assert pause_between_events() == 0


def test_a_query_never_waits(emulated):
    torch.emulated.kernel(200)
    event = timing_event()
    event.record()
    assert not event.query()
    torch.accelerator.synchronize()
    assert event.query()
    counters = emulated.counters()
    assert counters.queries == {"event": 2}
    assert counters.events == 1
    assert "event" not in counters.waits


def test_an_event_on_another_stream_passes_with_that_stream(emulated):
    stream = torch.Stream(device="emulated")
    with stream:
        torch.emulated.kernel(300)
    event, other = timing_event(), timing_event()
    event.record(stream)
    other.record()
    other.synchronize()
    assert not event.query()
    event.synchronize()
    assert other.elapsed_time(event) > 100


def test_recording_again_replaces_the_moment_but_not_who_waits_for_the_old_one(emulated):
    stream = torch.Stream(device="emulated")
    event = timing_event()
    torch.emulated.kernel(5, "first")
    event.record()
    event.wait(stream)
    with stream:
        torch.emulated.kernel(1, "waiting")
    torch.emulated.kernel(100, "second")
    event.record()
    torch.accelerator.synchronize()
    done = {it.name: it for it in emulated.operations("kernel")}
    assert done["waiting"].start_ns == done["first"].end_ns


def test_time_cannot_be_read_before_both_events_have_passed(emulated):
    begin, end = timing_event(), timing_event()
    begin.record()
    torch.emulated.kernel(math.inf)
    end.record()
    with pytest.raises(RuntimeError, match="must be completed"):
        begin.elapsed_time(end)


def test_time_needs_events_made_for_it(emulated):
    begin, end = torch.Event(device="emulated"), timing_event()
    begin.record()
    end.record()
    end.synchronize()
    with pytest.raises(ValueError, match="enable_timing"):
        begin.elapsed_time(end)


def test_the_device_module_makes_events_too(emulated):
    module = torch.get_device_module("emulated")
    begin, end = module.Event(enable_timing=True), module.Event(enable_timing=True)
    begin.record(module.current_stream())
    module.kernel(3)
    end.record(module.current_stream())
    module.synchronize()
    assert begin.elapsed_time(end) >= 3
