"""Keras on torch with a simulated device: the host hands over work at once, the device does it later."""

import pytest

pytest.importorskip("torch")

from feedwatch.hooks.keras.attribution import Fetch
from feedwatch.hooks.keras.device_timeline import DeviceTimeline
from feedwatch.model.steps import StepRecord

MS = 1_000_000


class Device:
    """One stream. An event's time is the later of its enqueueing and the end of all earlier work."""

    def __init__(self):
        self.host_ns = 0
        self.free_ns = 0

    def work(self, duration_ms):
        self.free_ns = max(self.free_ns, self.host_ns) + duration_ms * MS

    def new(self):
        return [0]

    def record(self, event):
        event[0] = max(self.free_ns, self.host_ns)

    def done(self, event):
        return event[0] <= self.host_ns

    def elapsed_ns(self, earlier, later):
        return later[0] - earlier[0]

    def capturing(self):
        return False


def run(input_ms, compute_ms, steps=20):
    device = Device()
    timeline = DeviceTimeline(device, lambda: device.host_ns)
    fetches = []
    timeline.epoch_begin(0)
    for index in range(steps):
        asked_ns = device.host_ns
        timeline.asked(asked_ns)
        device.host_ns += input_ms * MS
        fetches.append(Fetch(asked_ns, device.host_ns, 8))
        timeline.got(fetches[-1])
        timeline.begin(index, device.host_ns)
        device.work(compute_ms)
        device.host_ns += MS // 10  # launching takes no time worth naming
    timeline.epoch_end(device.host_ns)
    device.host_ns = device.free_ns + MS
    timeline.finish()
    items = list(timeline.drain(fetches))
    return [item for item in items if isinstance(item, StepRecord)][2:], timeline


def test_a_device_that_still_computes_is_not_starved_however_long_the_host_waits():
    records, _ = run(input_ms=8, compute_ms=20)
    assert {record.starved_ns for record in records} == {0}
    assert {record.host_wait_ns for record in records} == {8 * MS}
    assert records[5].compute_ns == 20 * MS


def test_a_device_that_runs_dry_is_starved():
    records, timeline = run(input_ms=30, compute_ms=10)
    for record in records:
        assert record.starved_ns == record.input_wait_ns == pytest.approx(20.1 * MS, rel=0.01)
        assert record.compute_ns == pytest.approx(10 * MS, rel=0.02)
    assert timeline.dropped == 0
    assert [record.step for record in records] == list(range(3, 21))
    assert {record.samples for record in records} == {8}


def test_what_the_device_has_not_passed_at_the_end_is_dropped_and_counted():
    device = Device()
    timeline = DeviceTimeline(device, lambda: device.host_ns)
    timeline.asked(0)
    timeline.got(Fetch(0, 1))
    timeline.begin(0, 2)
    device.work(1000)
    timeline.epoch_end(3)
    timeline.finish()
    assert [item for item in timeline.drain([Fetch(0, 1)]) if isinstance(item, StepRecord)] == []
    assert timeline.dropped == 1
