"""Lightning on the emulated device. Lightning puts accelerators that it does not know on the CPU, unless the strategy
names the device."""

from typing import Any

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.accelerators import Accelerator
from lightning.pytorch.strategies import SingleDeviceStrategy


class EmulatedAccelerator(Accelerator):
    def setup_device(self, device: torch.device) -> None:
        torch.accelerator.set_device_index(device)

    def teardown(self) -> None:
        torch.accelerator.empty_cache()

    def get_device_stats(self, device: torch.device) -> dict[str, Any]:
        return dict(torch.accelerator.memory_stats(device))

    @staticmethod
    def parse_devices(devices: Any) -> int:
        return int(devices)

    @staticmethod
    def get_parallel_devices(devices: int) -> list[torch.device]:
        return [torch.device("emulated", index) for index in range(devices)]

    @staticmethod
    def auto_device_count() -> int:
        return torch.accelerator.device_count()

    @staticmethod
    def is_available() -> bool:
        return True

    @staticmethod
    def name() -> str:
        return "emulated"


def trainer(index: int = 0, **options: Any) -> Trainer:
    """A quiet Trainer on one emulated device; `options` are the Trainer's own."""
    device = torch.device("emulated", index)
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    strategy = SingleDeviceStrategy(device=device, accelerator=EmulatedAccelerator())
    return Trainer(devices=1, strategy=strategy, **{**quiet, **options})
