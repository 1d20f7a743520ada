"""The device's ledger under a scripted clock."""

import pytest

from feedwatch.hooks.torch.device import MAX_PENDING, Categories, DeviceMeter
from feedwatch.model.steps import StepRecord
from tests.simulated.device import SimulatedClock, SimulatedDevice, VirtualHost

OTHER, WAIT, COPY, COMPUTE, APART = range(5)


@pytest.fixture
def rig():
    host = VirtualHost()
    device = SimulatedDevice(host, latency_ns=0)
    clock = SimulatedClock(device)
    records = []
    meter = DeviceMeter(clock, Categories(OTHER, WAIT, COPY, COMPUTE, APART), records.append, host.now_ns)
    return host, device, clock, meter, records


def one_step(host, device, meter, *, wait=0.0, copy=0.0, compute=0.0, number=1):
    meter.step_begin()
    meter.mark(WAIT)
    host.work_ms(wait)
    meter.mark(OTHER)
    meter.mark(COPY)
    device.launch(copy)
    meter.mark(OTHER)
    meter.mark(COMPUTE)
    device.launch(compute)
    meter.mark(OTHER)
    meter.step_end(StepRecord(number, 0, round(wait * 1e6), 0, 0))


def test_a_wait_behind_running_work_starves_nobody(rig):
    host, device, _, meter, records = rig
    one_step(host, device, meter, compute=10)
    one_step(host, device, meter, wait=6, compute=10)
    meter.epoch_end()
    device.synchronise()
    meter.close()

    assert [record.starved_ns for record in records] == [0, 0]
    assert [record.host_wait_ns for record in records] == [0, 6_000_000]
    assert [record.compute_ns for record in records] == [10_000_000, 10_000_000]


def test_only_the_part_after_the_device_ran_dry_is_starved(rig):
    host, device, _, meter, records = rig
    one_step(host, device, meter, compute=4)
    one_step(host, device, meter, wait=7, copy=1, compute=4)
    meter.epoch_end()
    device.synchronise()
    meter.close()

    assert records[1].starved_ns == records[1].input_wait_ns == 3_000_000
    assert records[1].h2d_ns == 1_000_000
    assert records[1].wall_ns == 8_000_000


def test_validation_is_not_part_of_the_step(rig):
    host, device, _, meter, records = rig
    one_step(host, device, meter, compute=4)
    meter.mark(APART)
    device.launch(50)
    meter.mark(OTHER)
    # the marks above belong to the step that ends with the next fetch
    one_step(host, device, meter, compute=4)
    meter.epoch_end()
    device.synchronise()
    meter.close()

    assert sum(record.wall_ns for record in records) == 8_000_000


def test_what_the_device_has_not_passed_is_not_read_and_counted_at_the_end(rig):
    host, device, _, meter, records = rig
    one_step(host, device, meter, compute=10)
    one_step(host, device, meter, compute=10)
    meter.epoch_end()
    meter.close()

    assert records == []
    assert meter.dropped == 2


def test_a_graph_capture_is_left_alone_and_its_step_dropped(rig):
    host, device, clock, meter, records = rig
    one_step(host, device, meter, compute=1)
    clock.graph = True
    meter.mark(COMPUTE)
    clock.graph = False
    one_step(host, device, meter, compute=1)
    meter.epoch_end()
    device.synchronise()
    meter.close()

    assert len(records) + meter.dropped == 2
    assert meter.dropped == 1


def test_pending_steps_are_bounded_and_events_reused(rig):
    host, device, clock, meter, records = rig
    device.queue_depth = 1 << 30
    device.launch(1e9)  # the device is stuck for days
    for number in range(3 * MAX_PENDING):
        one_step(host, device, meter, compute=1, number=number)
    assert meter.dropped >= 2 * MAX_PENDING - 1
    assert clock.made <= 7 * (MAX_PENDING + 3)
    assert records == []


def test_a_step_that_was_not_trained_is_forgotten(rig):
    host, device, _, meter, records = rig
    meter.step_begin()
    meter.mark(WAIT)
    meter.mark(OTHER)
    meter.epoch_end()
    one_step(host, device, meter, compute=1)
    meter.epoch_end()
    device.synchronise()
    meter.close()

    assert len(records) == 1
    assert meter.dropped == 0
