"""PyTorch's profiler (Kineto): events from a JSON trace or from a profiler in this process, into a timeline."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from feedwatch.probe.traces.kinds import UNKNOWN, stated_kind
from feedwatch.probe.traces.timeline import Step, Timeline

# Files of 2021 capitalise their categories and name some of them differently.
_OLD_CATEGORIES: Final = {"memcpy": "gpu_memcpy", "memset": "gpu_memset"}
_DEVICE_CATEGORIES: Final = frozenset(("kernel", "gpu_memcpy", "gpu_memset"))
_FROM_TO: Final = re.compile(r"\((\w+) -> (\w+)\)")
_TO_DEVICE: Final = ("HtoD", "HostToDevice")
_TO_HOST: Final = ("DtoH", "DeviceToHost")


class KinetoEvent(NamedTuple):
    """One event as both sources give it. Times in ns, from any common origin."""

    category: str  # kernel, gpu_memcpy, gpu_memset, user_annotation, cpu_op, … in any case
    name: str
    start_ns: float
    duration_ns: float
    device: str | int | None = None
    size_bytes: int = 0


def from_events(events: Iterable[KinetoEvent]) -> Timeline:
    builder = KinetoTimeline()
    for event in events:
        builder.add(event)
    return builder.finish()


class KinetoTimeline:
    def __init__(self) -> None:
        self._timeline = Timeline("kineto")
        # ProfilerStep#N is not unique within a file: a step is its name and its start.
        self._steps: dict[tuple[str, float], Step] = {}

    def add(self, event: KinetoEvent) -> None:
        category = event.category.lower()
        category = _OLD_CATEGORIES.get(category, category)
        end_ns = event.start_ns + max(0.0, event.duration_ns)
        if category in _DEVICE_CATEGORIES:
            self._add_device_event(category, event, end_ns)
        elif category.startswith("gpu"):
            return  # gpu_user_annotation: twins of the host's annotations, torch 2.x
        elif event.name.startswith("ProfilerStep#"):
            self._steps[event.name, event.start_ns] = Step(event.start_ns, end_ns)
        elif "DataLoader" in event.name and "__next__" in event.name:
            self._timeline.waits.add(event.start_ns, end_ns)

    def finish(self) -> Timeline:
        steps = [step for step in self._steps.values() if step.end_ns > step.start_ns]
        self._timeline.host_steps = sorted(steps, key=lambda step: step.start_ns)
        return self._timeline

    def _add_device_event(self, category: str, event: KinetoEvent, end_ns: float) -> None:
        device = self._timeline.device(f"GPU:{event.device}")
        if category == "kernel":
            device.kernels.add(event.start_ns, end_ns)
        elif category == "gpu_memcpy" and any(word in event.name for word in _TO_DEVICE):
            device.h2d.add(event.start_ns, end_ns, event.size_bytes, _kind(event.name))
        else:
            device.other.add(event.start_ns, end_ns)
            if category == "gpu_memcpy" and any(word in event.name for word in _TO_HOST):
                device.d2h.add(event.start_ns, end_ns, event.size_bytes, UNKNOWN)


def _kind(name: str) -> str:
    found = _FROM_TO.search(name)
    return stated_kind(found.group(1)) if found else UNKNOWN


@lru_cache(maxsize=256)
def device_category(category: str) -> bool:
    """Remembered: a file has a dozen categories and a million events."""
    return _OLD_CATEGORIES.get(category.lower(), category.lower()) in _DEVICE_CATEGORIES


def interesting(category: str, name: str) -> bool:
    """Whether `add` would keep the event: most of a file are operators and Python frames."""
    return device_category(category) or name.startswith("ProfilerStep#") or "DataLoader" in name
