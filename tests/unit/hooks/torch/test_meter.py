"""Steps on the device's own clock, with a device that exists only in arithmetic."""

from types import SimpleNamespace

import pytest

from feedwatch.guard import Guard
from feedwatch.hooks.run import OwnCost
from feedwatch.hooks.torch.meter import MAX_PENDING, DeviceMeter, DeviceSteps
from feedwatch.measure.clock import SYSTEM_CLOCK
from feedwatch.measure.marks import (
    BEGIN,
    COMPUTE,
    DEVICE,
    ENTER,
    EPOCH,
    EPOCH_END,
    GOT,
    H2D,
    INPUT,
    VALIDATION,
    Marks,
)
from feedwatch.measure.steps import Ends, StepReader
from feedwatch.model.steps import StepRecord
from tests.fakes.arithmetic_device import SimulatedClock, SimulatedDevice, VirtualHost

MS = 1_000_000


class Rig:
    def __init__(self):
        self.host = VirtualHost()
        self.device = SimulatedDevice(self.host, latency_ns=0)
        self.clock = SimulatedClock(self.device)
        self.marks = []
        self.meter = DeviceMeter(self.clock, self.marks.append, self.host.now_ns)
        self.opened_ns = []

    @property
    def times(self):
        assert all(what == DEVICE for _, what, _ in self.marks)
        return [detail.times() for _, _, detail in self.marks]

    def span(self, category, work):
        self.meter.enter(category, self.host.now_ns())
        work()
        self.meter.leave(category, self.host.now_ns())

    def step(self, wait=0.0, copy=0.0, compute=0.0):
        self.opened_ns.append(self.host.now_ns())
        self.span(INPUT, lambda: self.host.work_ms(wait))
        self.span(H2D, lambda: self.device.launch(copy))
        self.span(COMPUTE, lambda: self.device.launch(compute))
        self.meter.trained()
        self.host.work_ms(0.01)

    def end(self, *, device_catches_up=True):
        self.meter.epoch_end(self.host.now_ns())
        if device_catches_up:
            self.device.synchronise()
        self.meter.close()


@pytest.fixture
def rig():
    return Rig()


def test_a_wait_behind_running_work_starves_nobody(rig):
    rig.step(compute=10)
    rig.step(wait=6, compute=10)
    rig.end()

    assert [times.wait_ns for times in rig.times] == [0, 0]
    assert [times.compute_ns for times in rig.times] == [10_000_000, 10_000_000]


def test_a_step_is_known_by_the_time_of_the_mark_that_opened_it(rig):
    for _ in range(3):
        rig.step(compute=2)
    rig.end()

    assert [times.first_ns for times in rig.times] == rig.opened_ns


def test_only_the_part_after_the_device_ran_dry_is_starved(rig):
    rig.step(compute=4)
    rig.step(wait=7, copy=1, compute=4)
    rig.end()

    assert rig.times[1].wait_ns == 3_010_000
    assert rig.times[1].copy_ns == 1_000_000
    assert rig.times[1].wall_ns == 8_010_000


@pytest.mark.parametrize(("between_ms", "events"), [(0.01, 4), (0.2, 6)])
def test_what_begins_at_once_where_something_ends_needs_no_event_of_its_own(rig, between_ms, events):
    for _ in range(3):
        rig.span(INPUT, lambda: rig.host.work_ms(1))
        rig.host.work_ms(between_ms)
        rig.span(H2D, lambda: rig.device.launch(2))
        rig.host.work_ms(between_ms)
        rig.span(COMPUTE, lambda: rig.device.launch(3))
        rig.meter.trained()
    assert len(rig.meter._marks) == events
    rig.end()
    assert [times.copy_ns for times in rig.times] == pytest.approx([2_000_000] * 3, abs=between_ms * 1e6)
    assert [times.compute_ns for times in rig.times] == pytest.approx([3_000_000] * 3, abs=between_ms * 1e6)


def test_a_step_that_fetches_by_itself_is_opened_by_its_compute(rig):
    def fetching():
        rig.span(INPUT, lambda: rig.host.work_ms(3))
        rig.device.launch(2)

    for _ in range(2):
        rig.opened_ns.append(rig.host.now_ns())
        rig.span(COMPUTE, fetching)
        rig.meter.trained()
    rig.end()

    assert [times.first_ns for times in rig.times] == rig.opened_ns
    assert [times.wait_ns for times in rig.times] == [3_000_000, 1_000_000]


def test_validation_is_not_part_of_the_step(rig):
    rig.step(compute=4)
    rig.span(VALIDATION, lambda: rig.device.launch(50))
    rig.step(compute=4)
    rig.end()

    assert sum(times.wall_ns for times in rig.times) == 8_000_000


def test_what_the_device_has_not_passed_is_not_read(rig):
    rig.step(compute=10)
    rig.step(compute=10)
    rig.end(device_catches_up=False)

    assert rig.marks == []


def test_a_graph_capture_is_left_alone_and_only_its_step_is_given_up(rig):
    rig.step(compute=1)
    rig.opened_ns.append(None)
    rig.meter.enter(INPUT, rig.host.now_ns())
    rig.clock.graph = True
    rig.meter.leave(INPUT, rig.host.now_ns())
    rig.clock.graph = False
    rig.meter.trained()
    rig.step(compute=1)
    rig.end()

    assert [times.first_ns for times in rig.times] == [rig.opened_ns[0], rig.opened_ns[2]]


def test_pending_steps_are_bounded_and_events_reused(rig):
    rig.device.queue_depth = 1 << 30
    rig.device.launch(1e9)  # the device is stuck for days
    for _ in range(3 * MAX_PENDING):
        rig.step(compute=1)

    assert rig.clock.made <= 7 * (MAX_PENDING + 3)
    assert rig.marks == []


def test_a_step_that_was_not_trained_is_forgotten(rig):
    rig.span(INPUT, lambda: None)
    rig.meter.epoch_end(rig.host.now_ns())
    rig.step(compute=1)
    rig.end()

    assert [times.first_ns for times in rig.times] == rig.opened_ns


def test_a_host_that_waits_for_the_device_in_every_step_is_found(rig):
    for _ in range(60):
        rig.span(INPUT, lambda: None)
        rig.meter.enter(COMPUTE, rig.host.now_ns())
        rig.device.launch(5)
        rig.meter.again(rig.host.now_ns())
        rig.device.synchronise()
        rig.meter.leave(COMPUTE, rig.host.now_ns())
        rig.meter.trained()
        rig.host.work_ms(0.01)
    rig.end()

    assert rig.meter.read_syncs() == COMPUTE


# -- a loop in which only fetches are seen ----------------------------------------------------------


class OneStream:
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


class Loop:
    """What Keras' loop on torch does, as far as its hooks and its iterator see it."""

    def __init__(self):
        self.device = OneStream()
        self.marks = Marks(1_000_000_000, SYSTEM_CLOCK)
        raw = self.marks.append
        guard, cost = Guard("the Keras hook"), OwnCost()
        now_ns = lambda: self.device.host_ns  # noqa: E731
        run = SimpleNamespace(append=raw, now_ns=now_ns, guard=guard, cost=cost, on_hand_over=[])
        self.steps = DeviceSteps(self.device, run)
        self.marks.append = self.steps.append
        self.raw = raw
        raw((0, EPOCH, (0, 0)))

    def fetch(self, input_ms):
        self.raw((self.device.host_ns, ENTER, INPUT))
        self.steps.asked(self.device.host_ns)
        self.device.host_ns += round(input_ms * MS)
        self.raw((self.device.host_ns, GOT, 8))
        self.steps.got(self.device.host_ns)

    def step(self, batch, input_ms, compute_ms):
        self.fetch(input_ms)
        self.marks.append((self.device.host_ns, BEGIN, batch))
        self.device.work(compute_ms)
        self.device.host_ns += MS // 10  # launching takes no time worth naming

    def records(self, *, wait_for_device=True):
        self.steps.pause(self.device.host_ns)
        self.raw((self.device.host_ns, EPOCH_END, None))
        if wait_for_device:
            self.device.host_ns = self.device.free_ns + MS
        self.steps.close(self.device.host_ns)
        reader = StepReader(ends=Ends.NEXT, device=True)
        items = [*reader.read(self.marks.take().marks), *reader.finish()]
        return [item for item in items if isinstance(item, StepRecord)], reader


def run(input_ms, compute_ms, steps=20):
    loop = Loop()
    for batch in range(steps):
        loop.step(batch, input_ms, compute_ms)
    return loop.records()


def test_a_device_that_still_computes_is_not_starved_however_long_the_host_waits():
    records, _ = run(input_ms=8, compute_ms=20)
    assert {record.starved_ns for record in records[2:]} == {0}
    assert {record.host_wait_ns for record in records[2:]} == {8 * MS}
    assert records[5].compute_ns == 20 * MS


def test_a_device_that_runs_dry_is_starved():
    records, reader = run(input_ms=30, compute_ms=10)
    for record in records[2:]:
        assert record.starved_ns == record.input_wait_ns == pytest.approx(20.1 * MS, rel=0.01)
        assert record.compute_ns == pytest.approx(10 * MS, rel=0.02)
    assert reader.dropped == 0
    assert [record.step for record in records] == list(range(1, 21))
    assert {record.samples for record in records} == {8}


def test_the_search_for_more_data_is_no_step():
    loop = Loop()
    for batch in range(3):
        loop.step(batch, 5, 10)
    loop.fetch(5)  # the data has ended
    records, reader = loop.records()
    assert len(records) == 3
    assert reader.dropped == 0


def test_what_the_device_has_not_passed_at_the_end_is_dropped_and_counted():
    loop = Loop()
    loop.step(0, 1, 1000)
    records, reader = loop.records(wait_for_device=False)
    assert records == []
    assert reader.dropped == 1
