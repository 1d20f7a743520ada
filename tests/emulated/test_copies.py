"""Copies take bytes / bandwidth on the stream; pageable ones block the host, pinned non_blocking ones do not."""

import time

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

MS = 1_000_000
SIZE_BYTES = 1_000_000


@pytest.fixture
def slow(emulated):
    """Links so slow that a megabyte takes 100 and 200 ms: the host's own work on it is noise."""
    emulated.settings.pinned_gb_per_s = 0.01
    emulated.settings.pageable_gb_per_s = 0.005
    return emulated


@pytest.fixture
def batch():
    return torch.arange(SIZE_BYTES // 4, dtype=torch.float32)


@pytest.mark.parametrize(
    ("pinned", "non_blocking", "copy_ms", "host_waits"),
    [(False, False, 200, True), (False, True, 200, True), (True, False, 100, True), (True, True, 100, False)],
)
def test_a_copy_to_the_device(slow, batch, pinned, non_blocking, copy_ms, host_waits):
    source = batch.pin_memory() if pinned else batch
    assert source.is_pinned() is pinned
    arrived = source.to("emulated", non_blocking=non_blocking)
    returned_ns = time.perf_counter_ns()
    torch.accelerator.synchronize()
    (copy,) = slow.operations("copy")
    assert copy.copy == ("pinned_to_device" if pinned else "pageable_to_device")
    assert copy.size_bytes == SIZE_BYTES
    assert copy.duration_ns == copy_ms * MS
    assert (returned_ns >= copy.end_ns) is host_waits
    assert torch.equal(arrived.cpu(), batch)


def test_a_blocking_copy_waits_for_the_kernels_before_it(slow, batch):
    torch.emulated.kernel(50)
    batch.to("emulated")
    (kernel,), (copy,) = slow.operations("kernel"), slow.operations("copy")
    assert copy.start_ns == kernel.end_ns
    (wait,) = slow.waits("copy")
    assert wait.end_ns >= copy.end_ns


def test_a_pinned_copy_on_its_own_stream_hides_behind_a_kernel(slow, batch):
    pinned = batch.pin_memory()
    torch.emulated.kernel(400)
    with torch.Stream(device="emulated"):
        pinned.to("emulated", non_blocking=True)
    torch.accelerator.synchronize()
    (kernel,), (copy,) = slow.operations("kernel"), slow.operations("copy")
    assert copy.end_ns < kernel.end_ns


def test_a_copy_back_blocks_unless_it_goes_to_pinned_memory(slow, batch):
    there = batch.pin_memory().to("emulated", non_blocking=True)
    torch.accelerator.synchronize()
    there.cpu()
    assert slow.counters().waits["copy"] == 1
    torch.empty_like(batch, pin_memory=True).copy_(there, non_blocking=True)
    assert slow.counters().waits["copy"] == 1
    torch.accelerator.synchronize()
    assert slow.counters().copies == {"pinned_to_device": 1, "device_to_pageable": 1, "device_to_pinned": 1}


def test_counters_add_up_bytes_by_kind(emulated, batch):
    for _ in range(3):
        batch.to("emulated")
    there = batch.pin_memory().to("emulated", non_blocking=True)
    there.clone()
    there.to("emulated:1")
    assert emulated.counters().copied_bytes == {
        "pageable_to_device": 3 * SIZE_BYTES,
        "pinned_to_device": SIZE_BYTES,
        "on_device": SIZE_BYTES,
        "between_devices": SIZE_BYTES,
    }


def test_reading_a_value_waits_for_the_kernels_before_it(emulated):
    loss = torch.ones(1, device="emulated") * 3
    torch.emulated.kernel(40)
    assert loss.item() == 3
    (wait,), (kernel,) = emulated.waits("item"), emulated.operations("kernel")
    assert wait.end_ns >= kernel.end_ns


def test_values_survive_views_types_and_broadcasts(emulated):
    host = torch.arange(24.0).reshape(2, 3, 4)
    there = host.to("emulated")
    assert torch.equal(there.transpose(0, 2)[1:].cpu(), host.transpose(0, 2)[1:])
    assert torch.equal(there.to(torch.int64).cpu(), host.to(torch.int64))
    target = torch.zeros(2, 3, 4, device="emulated")
    target.copy_(torch.arange(4.0))
    target[:, 1] = 7
    expected = torch.arange(4.0).expand(2, 3, 4).clone()
    expected[:, 1] = 7
    assert torch.equal(target.cpu(), expected)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_data_loader_pins_its_batches(emulated, workers):
    data = TensorDataset(torch.arange(64.0).reshape(16, 4))
    loader = DataLoader(data, batch_size=4, num_workers=workers, pin_memory=True)
    batches = [batch for (batch,) in loader]
    assert all(batch.is_pinned() for batch in batches)
    there = torch.cat([batch.to("emulated", non_blocking=True) for batch in batches])
    assert torch.equal(there.cpu(), data.tensors[0])
    counters = emulated.counters()
    assert counters.copies["pinned_to_device"] == 4
    assert counters.pinned_allocations == 4
    assert counters.pinned_bytes == data.tensors[0].nbytes


def test_pinned_is_any_part_of_pinned_memory_and_nothing_else(emulated):
    pinned = torch.zeros(100, pin_memory=True)
    assert pinned[50:].is_pinned()
    assert not pinned.clone().is_pinned()
    assert not torch.zeros(100).is_pinned()
