"""What a device is and how full it is. On the emulated device: tests/contract/device."""

from types import SimpleNamespace

import pytest
import torch

from feedwatch.hooks.torch.device import device_clock, gpu_id, memory_of
from feedwatch.model.facts import has_tensor_cores


def test_nvml_knows_a_gpu_by_its_uuid_with_a_prefix():
    assert gpu_id(SimpleNamespace(uuid="5ccc4e64")) == "GPU-5ccc4e64"
    bus = SimpleNamespace(pci_domain_id=0, pci_bus_id=0x3B, pci_device_id=0)
    assert gpu_id(bus) == "00000000:3b:00.0"
    assert gpu_id(SimpleNamespace()) is None


@pytest.mark.parametrize(
    ("name", "capability", "cores"),
    [
        ("Tesla P100", (6, 0), False),
        ("Tesla V100", (7, 0), True),
        ("NVIDIA GeForce GTX 1660", (7, 5), False),
        ("Tesla T4", (7, 5), True),
        ("NVIDIA A10G", (8, 6), True),
    ],
)
def test_which_gpus_have_tensor_cores(name, capability, cores):
    assert has_tensor_cores(name, capability) is cores


@pytest.mark.parametrize("kind", ["cpu", "meta", "mps"])
def test_where_nothing_can_be_asked_without_waiting_there_is_neither_clock_nor_memory(kind):
    assert device_clock(torch.device(kind)) is None
    assert memory_of(torch.device(kind)) is None
