"""How full the device is, as torch's own allocator counts it: what it keeps for the next tensor is free."""

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from feedwatch.torch import FeedWatch
from tests.contract.device.scenes import Scene, fit

pytestmark = pytest.mark.filterwarnings("ignore")
MB = 1 << 20


def test_a_cache_is_not_called_full(emulated, tmp_path):
    total = torch.emulated.mem_get_info()[1]
    kept = [torch.empty(64 * MB, dtype=torch.uint8, device="emulated") for _ in range(14)]
    del kept  # 896 of 1024 MiB stay in torch's cache
    assert torch.emulated.mem_get_info()[0] < 0.2 * total
    device = fit(Scene(steps=20, kernel_ms=3, load_ms=0), tmp_path).facts.device
    assert device.memory_total_bytes == total
    assert device.memory_used_share < 0.2
    assert device.memory_free_bytes > 0.8 * total


def test_memory_that_tensors_hold_is_full(emulated, tmp_path):
    kept = torch.empty(900 * MB, dtype=torch.uint8, device="emulated")
    device = fit(Scene(steps=20, kernel_ms=3, load_ms=0), tmp_path).facts.device
    assert device.memory_used_share > 0.85
    del kept


def test_data_that_fit_beside_the_model_are_advised_to_stay_there(emulated, tmp_path):
    """FW207 had no figure to go by where NVML has none, and with a cache in the way it was silent."""
    emulated.settings.pageable_gb_per_s = 0.2
    data = TensorDataset(torch.arange(40 * 100_000, dtype=torch.float32).view(40, -1))
    watch = FeedWatch(tmp_path, console=False, device="emulated")
    for _ in range(2):
        for (batch,) in watch(DataLoader(data, batch_size=1, shuffle=True)):
            with watch.copying():
                batch.to("emulated")
            torch.emulated.kernel(3)
    torch.accelerator.synchronize()
    (found,) = [each for each in watch.close().findings if each.code == "FW207"]
    assert found.evidence["device_free_bytes"] > 500 * MB
