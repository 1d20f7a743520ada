"""Device memory has a limit, statistics and a cache."""

import gc

import pytest
import torch

MB = 1 << 20


def allocate(size_bytes, index=0):
    return torch.empty(size_bytes, dtype=torch.uint8, device=f"emulated:{index}")


@pytest.fixture
def held(emulated):
    """What models of earlier tests still hold on each device; the limit leaves 8 MiB beside it on device 0."""
    gc.collect()
    torch.accelerator.empty_cache()
    for index in (0, 1):
        torch.accelerator.reset_peak_memory_stats(index)
    bytes_held = [torch.accelerator.memory_allocated(index) for index in (0, 1)]
    emulated.settings.memory_bytes = bytes_held[0] + 8 * MB
    return bytes_held


def test_more_than_there_is_raises_what_torch_raises(held):
    before = torch.accelerator.memory_stats()["num_ooms"]
    kept = allocate(6 * MB)
    with pytest.raises(torch.OutOfMemoryError, match=r"Tried to allocate 4\.00 MiB.* 2\.00 MiB is free"):
        allocate(4 * MB)
    assert torch.accelerator.memory_stats()["num_ooms"] == before + 1
    del kept
    assert allocate(8 * MB).nbytes == 8 * MB


def test_each_device_has_memory_of_its_own(held):
    kept = [allocate(6 * MB, 0), allocate(5 * MB, 1)]
    for index in (0, 1):
        assert torch.accelerator.memory_allocated(index) == held[index] + kept[index].nbytes
        free, total = torch.emulated.mem_get_info(index)
        assert total - free == held[index] + kept[index].nbytes
        assert total == held[0] + 8 * MB


def test_freed_memory_is_kept_and_used_again(held):
    first = allocate(4 * MB)
    address = first.data_ptr()
    del first
    assert torch.accelerator.memory_allocated() == held[0]
    assert torch.accelerator.memory_reserved() == held[0] + 4 * MB
    assert torch.accelerator.max_memory_allocated() == held[0] + 4 * MB
    assert allocate(4 * MB).data_ptr() == address
    torch.accelerator.empty_cache()
    assert torch.accelerator.memory_reserved() == held[0]


def test_the_cache_makes_room_before_memory_is_out(held):
    before = torch.accelerator.memory_stats()["num_alloc_retries"]
    allocate(6 * MB)  # freed immediately, but kept
    assert allocate(5 * MB).nbytes == 5 * MB
    assert torch.accelerator.memory_stats()["num_alloc_retries"] == before + 1


def test_storages_can_be_resized(held):
    tensor = torch.arange(4.0, device="emulated:1")
    tensor.resize_(100)
    assert tensor[:4].tolist() == [0, 1, 2, 3]
    assert tensor.device.index == 1
    tensor.untyped_storage().resize_(0)
    assert torch.accelerator.memory_allocated(1) == held[1]
