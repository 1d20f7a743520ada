"""An accelerator that torch believes in, on any machine: `torch.device("emulated:0")`.

Streams, events, pinned memory, copies, memory limits and the profiler behave as on a GPU. Values are computed on the
CPU the moment an operator is called; only time is emulated. See the README of this folder.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from tests.emulated.truth import Counters, HostWait, Operation, busy_ns, counters


class Emulated:
    """The handle of a test: settings, fault switches, the truth, and `reset` between tests."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self.settings = library.Settings()
        self.faults = library.Faults()
        self.ProfilerStart = library.ProfilerStart

    def reset(self) -> None:
        """Abandons queued work, mends faults, restores settings, empties log and cache, selects device 0."""
        import torch

        self._library.reset()
        self._library.set_device(0)
        for index in range(self._library.DEVICES):
            torch.accelerator.set_stream(torch.emulated.default_stream(index))
            torch.accelerator.reset_peak_memory_stats(index)
        self._library.set_device(0)
        torch.accelerator.empty_cache()

    def operations(self, kind: str | None = None, device: int | None = None) -> list[Operation]:
        """In the order in which they ended; only what is complete."""
        every = (Operation(*values) for values in self._library.operations())
        return [it for it in every if kind in (None, it.kind) and device in (None, it.device)]

    def waits(self, what: str | None = None) -> list[HostWait]:
        every = (HostWait(*values) for values in self._library.waits())
        return [it for it in every if what in (None, it.what)]

    def counters(self) -> Counters:
        return counters(self._library.counters())

    def busy_ns(self, begin_ns: int, end_ns: int, device: int = 0) -> int:
        return busy_ns(self.operations(device=device), begin_ns, end_ns)


@cache
def load() -> Emulated:
    """Builds where needed, registers with torch, and returns the handle; raises CannotBuild where there is no compiler.

    A process that loads it keeps it. Load it before the first backward pass: autograd counts devices only once.
    """
    from tests.emulated import backend, build

    library = build.library()
    backend.install(library)
    return Emulated(library)


__all__: Sequence[str] = ("Counters", "Emulated", "HostWait", "Operation", "load")
