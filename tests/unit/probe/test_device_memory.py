"""Memory in gigabytes: what NVML sees, what the framework counts, what a report says."""

import pytest

from feedwatch.model.facts import DeviceFacts
from feedwatch.probe.device_memory import DeviceMemory, with_own_memory

GB = 10**9
FULL = DeviceFacts(memory_used_share=0.97, memory_total_bytes=40 * GB, memory_free_bytes=1 * GB, utilisation=0.5)


def test_what_torch_has_freed_and_kept_is_free():
    """30 GB in its cache: NVML calls the device full, and the next tensor still finds a place."""
    found = with_own_memory(FULL, DeviceMemory(used_bytes=8 * GB, held_bytes=38 * GB))
    assert found.memory_free_bytes == 31 * GB
    assert found.memory_used_share == pytest.approx(9 / 40)
    assert found.utilisation == 0.5


def test_what_tensorflow_took_at_the_start_is_known_by_nvml_only():
    own = DeviceMemory(used_bytes=8 * GB)
    assert with_own_memory(FULL, own).memory_free_bytes is None
    taken = DeviceFacts(memory_total_bytes=40 * GB, memory_free_bytes=1 * GB, memory_held_bytes=38 * GB)
    assert with_own_memory(taken, own).memory_free_bytes == 31 * GB


def test_more_than_its_limit_a_framework_never_gets():
    own = DeviceMemory(used_bytes=10 * GB, held_bytes=30 * GB, limit_bytes=30 * GB, free_bytes=0)
    found = with_own_memory(FULL, own)
    assert (found.memory_free_bytes, found.memory_total_bytes) == (20 * GB, 30 * GB)
    assert with_own_memory(FULL, DeviceMemory(29 * GB, 30 * GB, 30 * GB, 10 * GB)).memory_free_bytes == 1 * GB


def test_a_framework_that_does_not_tell_leaves_it_unknown():
    """Not NVML's 97 %: that would be a pool."""
    found = with_own_memory(FULL, None)
    assert (found.memory_used_share, found.memory_free_bytes, found.memory_total_bytes) == (None, None, 40 * GB)
    assert with_own_memory(None, None) is None
    assert with_own_memory(None, DeviceMemory(1)) is None


def test_without_nvml_the_framework_is_enough():
    found = with_own_memory(None, DeviceMemory(GB, 2 * GB, 8 * GB, 5 * GB))
    assert found.memory_free_bytes == 6 * GB
    assert found.memory_used_share == pytest.approx(0.25)
