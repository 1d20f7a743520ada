"""What the session itself asks about the machine, once per window: the host's CPUs and, where there is one, the GPU."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from feedwatch.model.facts import RunFacts
from feedwatch.probe.host import HostProbe
from feedwatch.probe.nvml import NvmlProbe


class Machine:
    """Nothing is alive before `start`; `read` runs on the sink's thread."""

    def __init__(self, run: RunFacts, note: Callable[[str], None]) -> None:
        self._note = note
        self._host = HostProbe()
        self._nvml = NvmlProbe(_index(run.device)) if run.device_kind == "cuda" else None

    def start(self) -> None:
        self._host.sample()  # the first sample only sets the marks that the next ones speak of
        if self._nvml is not None:
            self._nvml.start()

    def read(self) -> Mapping[str, Any]:
        seen: dict[str, Any] = {"host": self._host.sample()}
        if self._nvml is not None:
            device = self._nvml.facts()
            if device is not None:
                seen["device"] = device
            for note in self._nvml.notes:
                self._note(note)
        return seen

    def stop(self) -> None:
        if self._nvml is not None:
            self._nvml.stop()


def _index(device: str) -> int:
    """The framework's own number: `cuda:1 (NVIDIA A10G)`, `/device:GPU:1`."""
    found = re.search(r":(\d+)", device)
    return int(found.group(1)) if found else 0
