"""Device memory has a limit, statistics and a cache."""

import pytest
import torch

MB = 1 << 20


def allocate(size_bytes, index=0):
    return torch.empty(size_bytes, dtype=torch.uint8, device=f"emulated:{index}")


def test_more_than_there_is_raises_what_torch_raises(emulated):
    emulated.settings.memory_bytes = 8 * MB
    kept = allocate(6 * MB)
    with pytest.raises(torch.OutOfMemoryError, match=r"Tried to allocate 4\.00 MiB.* 2\.00 MiB is free"):
        allocate(4 * MB)
    assert torch.accelerator.memory_stats()["num_ooms"] >= 1
    del kept
    assert allocate(8 * MB).nbytes == 8 * MB


def test_each_device_has_memory_of_its_own(emulated):
    emulated.settings.memory_bytes = 8 * MB
    kept = [allocate(6 * MB, 0), allocate(6 * MB, 1)]
    assert torch.emulated.mem_get_info(0) == torch.emulated.mem_get_info(1) == (2 * MB, 8 * MB)
    assert [torch.accelerator.memory_allocated(index) for index in (0, 1)] == [it.nbytes for it in kept]


def test_freed_memory_is_kept_and_used_again(emulated):
    first = allocate(4 * MB)
    address = first.data_ptr()
    del first
    assert torch.accelerator.memory_allocated() == 0
    assert torch.accelerator.memory_reserved() == 4 * MB
    assert torch.accelerator.max_memory_allocated() == 4 * MB
    assert allocate(4 * MB).data_ptr() == address
    torch.accelerator.empty_cache()
    assert torch.accelerator.memory_reserved() == 0


def test_the_cache_makes_room_before_memory_is_out(emulated):
    emulated.settings.memory_bytes = 8 * MB
    allocate(6 * MB)  # freed at once, but kept
    assert allocate(5 * MB).nbytes == 5 * MB
    assert torch.accelerator.memory_stats()["num_alloc_retries"] >= 1


def test_storages_can_be_resized(emulated):
    tensor = torch.arange(4.0, device="emulated:1")
    tensor.resize_(100)
    assert tensor[:4].tolist() == [0, 1, 2, 3]
    assert tensor.device.index == 1
    tensor.untyped_storage().resize_(0)
    assert torch.accelerator.memory_allocated(1) == 0
