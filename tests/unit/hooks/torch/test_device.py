"""Steps on the device's own clock, with a device that exists only in arithmetic."""

from types import SimpleNamespace

import pytest

from feedwatch.hooks.torch.device import MAX_PENDING, DeviceMeter, gpu_id
from feedwatch.measure.marks import COMPUTE, DEVICE, H2D, INPUT, VALIDATION
from tests.simulated.device import SimulatedClock, SimulatedDevice, VirtualHost


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
        return [detail for _, _, detail in self.marks]

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


def test_nvml_knows_a_gpu_by_its_uuid_with_a_prefix():
    assert gpu_id(SimpleNamespace(uuid="5ccc4e64")) == "GPU-5ccc4e64"
    assert gpu_id(SimpleNamespace()) is None
