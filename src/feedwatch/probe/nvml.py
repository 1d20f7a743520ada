"""The GPU by NVML, about once a second, on a thread of its own: a call that hangs hangs nobody else."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from feedwatch.model.facts import DeviceFacts
from feedwatch.probe.pcie import link_gb_per_s

if TYPE_CHECKING:
    from feedwatch.probe.nvml_device import DeviceHandles, NvmlSample

PERIOD_SECONDS: Final = 1.0
# Some calls take a tenth of a second and more under load; one that takes this long is hanging.
HANGING_SECONDS: Final = 10.0
STOP_SECONDS: Final = 0.5
KEPT_SAMPLES: Final = 120


@dataclass(frozen=True, slots=True)
class _Constants:
    name: str | None
    max_generation: int | None
    max_width: int | None


class NvmlProbe:
    """`start()`, then `facts()` as often as wanted (None: unknown), `notes` for what is missing, `stop()`.

    `facts()` speaks of the time since it was last called. Nothing is alive before `start`: the object may be copied.
    `device_index` is the framework's own number; `pci_bus_id`, where the framework tells it, leaves no doubt.
    """

    def __init__(
        self,
        device_index: int = 0,
        *,
        pci_bus_id: str | None = None,
        environ: Mapping[str, str] | None = None,
        period_s: float = PERIOD_SECONDS,
        hanging_s: float = HANGING_SECONDS,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._device_index = device_index
        self._pci_bus_id = pci_bus_id
        self._environ = dict(os.environ if environ is None else environ)
        self._period_s, self._hanging_s, self._clock_s = period_s, hanging_s, clock_s
        self._thread: threading.Thread | None = None
        self._stop: threading.Event | None = None
        self._asked_s: float | None = None  # since when a round of calls has been under way
        self._constants: _Constants | None = None
        self._samples: deque[NvmlSample] = deque(maxlen=KEPT_SAMPLES)
        self._best_link: tuple[int | None, int | None] = (None, None)
        self._lost = False
        self._notes: dict[str, None] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not measured and why; one line per cause."""
        return tuple(self._notes)

    def start(self) -> None:
        if self._thread is not None:
            return
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(self._stop,), name="feedwatch-nvml", daemon=True)
        self._thread.start()

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """A thread that hangs in a call is left behind: it holds nothing and ends with the process."""
        if self._thread is None or self._stop is None:
            return
        self._stop.set()
        self._thread.join(seconds)
        self._thread = None

    def facts(self) -> DeviceFacts | None:
        if self._hangs():
            self._note("NVML does not answer: utilisation and link are not measured")
            return None
        taken = [self._samples.popleft() for _ in range(len(self._samples))]
        if self._lost or not taken:
            return None
        self._samples.append(taken[-1])  # a caller that is faster than the thread gets the latest again
        return _fold(taken, self._constants or _Constants(None, None, None), self._best_link)

    def _hangs(self) -> bool:
        asked_s = self._asked_s
        return asked_s is not None and self._clock_s() - asked_s > self._hanging_s

    def _run(self, stop: threading.Event) -> None:
        """The whole life of the thread: the library is loaded, asked and released here and nowhere else."""
        self._asked_s = self._clock_s()
        try:
            import pynvml
        except ImportError:
            self._asked_s = None
            self._note("NVML is not measured: nvidia-ml-py is not installed")
            return
        try:
            pynvml.nvmlInit()
            try:
                self._sample_until(stop)
            finally:
                self._asked_s = None
                pynvml.nvmlShutdown()
        except Exception as error:  # whatever the library does, it does it to this thread only
            self._lost = True
            self._note(f"NVML: {error}")
        finally:
            self._asked_s = None

    def _sample_until(self, stop: threading.Event) -> None:
        from feedwatch.probe.nvml_device import find_device, read_constants

        handles = find_device(self._device_index, self._environ, self._pci_bus_id)
        self._constants = _Constants(*read_constants(handles, self._refused))
        while not stop.is_set():
            self._sample_once(handles)
            stop.wait(self._period_s)

    def _sample_once(self, handles: "DeviceHandles") -> None:
        from feedwatch.probe.nvml_device import read_device

        self._asked_s = self._clock_s()
        sample = read_device(handles, self._refused)
        self._asked_s = None
        # An idle link sleeps at a lower generation: what it can do shows when the device works.
        if sample.utilisation != 0.0:
            generation, width = self._best_link
            self._best_link = (_larger(generation, sample.pcie_generation), _larger(width, sample.pcie_width))
        self._samples.append(sample)

    def _refused(self, what: str, error: Exception) -> None:
        self._note(f"NVML gives no {what}: {error}")

    def _note(self, text: str) -> None:
        self._notes.setdefault(text)


def _fold(
    samples: "Sequence[NvmlSample]", constants: _Constants, best_link: tuple[int | None, int | None]
) -> DeviceFacts:
    last = samples[-1]
    generation = last.pcie_generation if best_link[0] is None else best_link[0]
    width = last.pcie_width if best_link[1] is None else best_link[1]
    used, total = last.memory_used_bytes, last.memory_total_bytes
    return DeviceFacts(
        name=constants.name,
        utilisation=_mean([sample.utilisation for sample in samples]),
        memory_used_share=None if used is None or total is None else used / total,
        memory_total_bytes=total,
        memory_free_bytes=None if used is None or total is None else total - used,
        pcie_rx_gb_per_s=_mean([sample.pcie_rx_gb_per_s for sample in samples]),
        pcie_generation=generation,
        pcie_width=width,
        pcie_max_generation=constants.max_generation,
        pcie_max_width=constants.max_width,
        link_gb_per_s=link_gb_per_s(generation, width),
        max_link_gb_per_s=link_gb_per_s(constants.max_generation, constants.max_width),
        throttle_reasons=tuple(dict.fromkeys(reason for sample in samples for reason in sample.throttle_reasons)),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _larger(one: int | None, other: int | None) -> int | None:
    return max((value for value in (one, other) if value is not None), default=None)
