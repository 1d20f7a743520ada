"""The GPU by NVML, about once a second, on a thread of its own: a call that hangs hangs nobody else."""

import os
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from feedwatch.measure.clock import SYSTEM_CLOCK, Clock
from feedwatch.model.facts import DeviceFacts

T = TypeVar("T")
Refused = Callable[[str, Exception], None]

PERIOD_SECONDS: Final = 1.0
# Some calls take a tenth of a second and more under load; one that takes this long is hanging.
HANGING_SECONDS: Final = 10.0
STOP_SECONDS: Final = 0.5
KEPT_SAMPLES: Final = 120

GB_PER_KB: Final = 1e-6
# GB/s per lane and direction, after the link's own encoding: generations 1 and 2 spend a fifth of the bits on it,
# generations 3 to 5 about 1.5 %, generation 6 its frames.
_GB_PER_S_PER_LANE: Final = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}


class NoDeviceError(Exception):
    """Nobody can say which GPU this process uses; the text says why."""


@dataclass(frozen=True, slots=True)
class Link:
    """What a PCIe link runs at, or can run at."""

    generation: int | None = None
    width: int | None = None

    @property
    def gb_per_s(self) -> float | None:
        """What it carries in one direction."""
        per_lane = _GB_PER_S_PER_LANE.get(self.generation or 0)
        return None if per_lane is None or not self.width or self.width < 0 else per_lane * self.width

    def best_of(self, other: "Link") -> "Link":
        return Link(_larger(self.generation, other.generation), _larger(self.width, other.width))


@dataclass(frozen=True, slots=True)
class NvmlSample:
    utilisation: float | None
    memory_used_bytes: int | None
    memory_total_bytes: int | None
    pcie_rx_gb_per_s: float | None
    link: Link
    memory_held_bytes: int | None = None  # by this process


class NvmlProbe:
    """`start()`, then `facts()` as often as wanted (None: unknown), `notes` for what is missing, `stop()`.

    `facts()` describes the time since it was last called. Nothing is alive before `start`: the object may be copied.
    `number` is the framework's own number of the GPU. `gpu_id` is its UUID or PCI bus id; where the framework tells
    it, NVML and the framework cannot mean different GPUs.
    """

    def __init__(
        self,
        number: int = 0,
        *,
        gpu_id: str | None = None,
        environ: Mapping[str, str] | None = None,
        period_s: float = PERIOD_SECONDS,
        hanging_s: float = HANGING_SECONDS,
        clock: Clock = SYSTEM_CLOCK,
        asks_held_memory: bool = False,
    ) -> None:
        self._number = number
        self._asks_held_memory = asks_held_memory
        self._gpu_id = gpu_id
        self._environ = dict(os.environ if environ is None else environ)
        self._period_s, self._hanging_s, self._clock = period_s, hanging_s, clock
        self._thread: threading.Thread | None = None
        self._stop: threading.Event | None = None
        self._asked_ns: int | None = None  # since when a round of calls has been under way
        self._name: str | None = None
        self._max_link = Link()
        self._best_link = Link()
        self._samples: deque[NvmlSample] = deque(maxlen=KEPT_SAMPLES)
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
        return self._fold(taken)

    def _fold(self, samples: Sequence[NvmlSample]) -> DeviceFacts:
        last = samples[-1]
        link = Link(
            last.link.generation if self._best_link.generation is None else self._best_link.generation,
            last.link.width if self._best_link.width is None else self._best_link.width,
        )
        used, total = last.memory_used_bytes, last.memory_total_bytes
        return DeviceFacts(
            name=self._name,
            utilisation=_mean([sample.utilisation for sample in samples]),
            memory_used_share=None if used is None or total is None else used / total,
            memory_total_bytes=total,
            memory_free_bytes=None if used is None or total is None else total - used,
            memory_held_bytes=last.memory_held_bytes,
            pcie_rx_gb_per_s=_mean([sample.pcie_rx_gb_per_s for sample in samples]),
            pcie_generation=link.generation,
            pcie_width=link.width,
            pcie_max_generation=self._max_link.generation,
            pcie_max_width=self._max_link.width,
            link_gb_per_s=link.gb_per_s,
            max_link_gb_per_s=self._max_link.gb_per_s,
        )

    def _hangs(self) -> bool:
        asked_ns = self._asked_ns
        return asked_ns is not None and self._clock.now_ns() - asked_ns > self._hanging_s * 1e9

    def _refused(self, what: str, error: Exception) -> None:
        self._note(f"NVML gives no {what}: {error}")

    def _note(self, text: str) -> None:
        self._notes.setdefault(text)

    # -- the thread ------------------------------------------------------------------------------

    def _run(self, stop: threading.Event) -> None:
        """The whole life of the thread: it imports, loads, asks and releases the library, and nobody else does.

        Nobody else imports pynvml either: the import takes tens of milliseconds, and under `-W error` another package
        of the same name raises a warning from it.
        """
        self._asked_ns = self._clock.now_ns()
        try:
            import pynvml

            pynvml.nvmlInit()
            try:
                self._sample_until(stop, find_gpu(pynvml, self._number, self._environ, self._gpu_id, self._refused))
            finally:
                self._asked_ns = None
                pynvml.nvmlShutdown()
        except Exception as error:  # whatever the library does, it does it to this thread only
            self._lost = True
            self._note(f"NVML: {error}")
        finally:
            self._asked_ns = None

    def _sample_until(self, stop: threading.Event, gpu: "Gpu") -> None:
        self._name, self._max_link = gpu.name(), gpu.max_link()
        while not stop.is_set():
            self._asked_ns = self._clock.now_ns()
            sample = gpu.sample()
            if self._asks_held_memory:
                sample = replace(sample, memory_held_bytes=gpu.held_memory(os.getpid()))
            self._asked_ns = None
            # An idle link sleeps at a lower generation: what it can do shows when the device works.
            if sample.utilisation != 0.0:
                self._best_link = self._best_link.best_of(sample.link)
            self._samples.append(sample)
            stop.wait(self._period_s)


class Gpu:
    """The GPU that this process uses. Read-only; a value that NVML does not give is None, and `refused` hears of it.

    A GPU that is lost raises: every later call would fail too.
    """

    def __init__(self, nvml: Any, device: Any, board: Any, refused: Refused) -> None:
        self._nvml = nvml
        self._device = device  # a MIG slice or a whole GPU; None for a slice that NVML cannot look up
        self._board = board  # the GPU that has the PCIe link: the same, except for a MIG slice
        self._refused = refused

    def name(self) -> str | None:
        handle = self._board if self._device is None else self._device
        name = self._ask("name", self._nvml.nvmlDeviceGetName, handle)
        return None if name is None else _text(name)

    def max_link(self) -> Link:
        return Link(
            self._ask("PCIe generation at most", self._nvml.nvmlDeviceGetMaxPcieLinkGeneration, self._board),
            self._ask("PCIe width at most", self._nvml.nvmlDeviceGetMaxPcieLinkWidth, self._board),
        )

    def sample(self) -> NvmlSample:
        nvml, ask = self._nvml, self._ask
        rates = ask("utilisation", nvml.nvmlDeviceGetUtilizationRates, self._device)
        memory = ask("memory", nvml.nvmlDeviceGetMemoryInfo, self._device)
        received = nvml.NVML_PCIE_UTIL_RX_BYTES
        rx_kb_per_s = ask("PCIe throughput", nvml.nvmlDeviceGetPcieThroughput, self._board, received)
        return NvmlSample(
            utilisation=None if rates is None else rates.gpu / 100,
            memory_used_bytes=None if memory is None else int(memory.used),
            memory_total_bytes=None if memory is None or not memory.total else int(memory.total),
            pcie_rx_gb_per_s=None if rx_kb_per_s is None else rx_kb_per_s * GB_PER_KB,
            link=Link(
                ask("PCIe generation", nvml.nvmlDeviceGetCurrPcieLinkGeneration, self._board),
                ask("PCIe width", nvml.nvmlDeviceGetCurrPcieLinkWidth, self._board),
            ),
        )

    def held_memory(self, pid: int) -> int | None:
        """What this process has taken. In a container NVML may know it by another number: then it is unknown."""
        running = self._ask("memory by process", self._nvml.nvmlDeviceGetComputeRunningProcesses, self._device)
        return next((process.usedGpuMemory for process in running or () if process.pid == pid), None)

    def _ask(self, what: str, call: Callable[..., T], handle: Any, *args: Any) -> T | None:
        if handle is None:
            self._refused(what, NoDeviceError("not available for this MIG slice"))
            return None
        try:
            return call(handle, *args)
        except self._nvml.NVMLError as error:
            if error.value in (self._nvml.NVML_ERROR_GPU_IS_LOST, self._nvml.NVML_ERROR_RESET_REQUIRED):
                raise
            self._refused(what, error)
            return None
        # An older driver has an older form of the function: no error of NVML's own.
        except getattr(self._nvml, "NVMLLibraryMismatchError", ()) as error:
            self._refused(what, error)
            return None


def find_gpu(nvml: Any, number: int, environ: Mapping[str, str], gpu_id: str | None, refused: Refused) -> Gpu:
    """The framework's GPU as NVML knows it. A MIG slice has a name in the environment only; then comes `gpu_id`."""
    tokens = visible_tokens(environ)
    token = tokens[number] if tokens is not None and number < len(tokens) else None
    if token is not None and token.startswith("MIG-GPU-"):
        # The form of early drivers, which NVML cannot look up: MIG-GPU-<uuid>/<instance>/<compute instance>.
        board = _by_uuid(nvml, token.removeprefix("MIG-").split("/")[0])
        return Gpu(nvml, None, board, refused)
    if token is not None and token.startswith("MIG-"):
        part = nvml.nvmlDeviceGetHandleByUUID(token.encode())
        return Gpu(nvml, part, nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(part), refused)
    if gpu_id is not None:
        handle = _by_uuid(nvml, gpu_id) if gpu_id.startswith("GPU-") else _by_bus(nvml, gpu_id)
    elif tokens is None:
        handle = _by_position(nvml, number, environ)
    elif token is None:
        raise NoDeviceError(f"CUDA_VISIBLE_DEVICES shows {len(tokens)} device(s), number {number} is not among them")
    else:
        handle = _by_position(nvml, int(token), environ) if token.isdigit() else _by_uuid(nvml, token)
    return Gpu(nvml, _used_part(nvml, handle), handle, refused)


def _used_part(nvml: Any, board: Any) -> Any | None:
    """A board in MIG mode that is not named by its slice: CUDA uses one slice of it, and which one is known only where
    there is one. Memory and use of the whole board are somebody else's too.
    """
    try:
        if not nvml.nvmlDeviceGetMigMode(board)[0]:
            return board
        slices = []
        for position in range(nvml.nvmlDeviceGetMaxMigDeviceCount(board)):
            with suppress(nvml.NVMLError):  # a place without a slice
                slices.append(nvml.nvmlDeviceGetMigDeviceHandleByIndex(board, position))
    except nvml.NVMLError:
        return board  # it knows no MIG
    return slices[0] if len(slices) == 1 else None


def visible_tokens(environ: Mapping[str, str]) -> list[str] | None:
    """CUDA's own reading: the list ends at the first entry that names nothing. None: no restriction."""
    value = environ.get("CUDA_VISIBLE_DEVICES")
    if value is None:
        return None
    tokens: list[str] = []
    for token in (part.strip() for part in value.split(",")):
        if not (token.isdigit() or token.startswith(("GPU-", "MIG-"))):
            break
        tokens.append(token)
    return tokens


def _by_position(nvml: Any, position: int, environ: Mapping[str, str]) -> Any:
    handles = _all_handles(nvml)
    if position >= len(handles):
        raise NoDeviceError(f"NVML shows {len(handles)} GPU(s), number {position} is not among them")
    # NVML counts by bus, and CUDA by speed unless the user sets the order: only among equal GPUs both surely agree.
    names = {_text(nvml.nvmlDeviceGetName(handle)) for handle in handles}
    if environ.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID" and len(names) > 1:
        raise NoDeviceError("GPUs of different models and no CUDA_DEVICE_ORDER=PCI_BUS_ID: which is used is unknown")
    return handles[position]


def _by_uuid(nvml: Any, prefix: str) -> Any:
    """CUDA takes any beginning of a UUID that is unique."""
    matches = [handle for handle in _all_handles(nvml) if _text(nvml.nvmlDeviceGetUUID(handle)).startswith(prefix)]
    if len(matches) != 1:
        raise NoDeviceError(f"{len(matches)} GPUs have a UUID that begins with {prefix}")
    return matches[0]


def _by_bus(nvml: Any, pci_bus_id: str) -> Any:
    return nvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id.encode())


def _all_handles(nvml: Any) -> list[Any]:
    return [nvml.nvmlDeviceGetHandleByIndex(position) for position in range(nvml.nvmlDeviceGetCount())]


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _larger(one: int | None, other: int | None) -> int | None:
    return max((value for value in (one, other) if value is not None), default=None)
