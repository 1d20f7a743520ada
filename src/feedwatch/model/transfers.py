"""Host-to-device copies, as a profiler saw them."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CopyTotals:
    count: int
    size_bytes: int
    time_ns: float  # sum of the copies' own durations

    @property
    def gb_per_s(self) -> float | None:
        """Weighted by bytes: a million scalars must not outvote one image batch."""
        return self.size_bytes / self.time_ns if self.time_ns > 0 else None


@dataclass(frozen=True, slots=True)
class DeviceTransfers:
    name: str
    copies: CopyTotals
    by_kind: dict[str, CopyTotals]  # pinned, pageable, other, unknown
    large: CopyTotals  # copies of 64 KiB and more: the input, without the scalars
    union_ns: float  # copies may overlap one another
    hidden_ns: float  # part of the union during which a kernel of the same device ran
    busy_ns: float  # union of kernels, copies and memsets
    idle_share: float | None  # of the step time, None without steps
    kernels: int = 0
    kernel_ns: float = 0.0  # union of kernels
    steps: int = 0  # whole steps seen on this device
    step_ns: float | None = None  # mean
    busy_per_step_ns: float | None = None  # mean over the steps, as the two below
    exposed_per_step_ns: float | None = None  # only what lies inside steps
    bytes_per_step: float | None = None
    to_host: CopyTotals | None = None  # copies back, device to host; None where nobody looked

    @property
    def exposed_ns(self) -> float:
        return max(0.0, self.union_ns - self.hidden_ns)

    @property
    def hidden_share(self) -> float | None:
        return self.hidden_ns / self.union_ns if self.union_ns > 0 else None


@dataclass(frozen=True, slots=True)
class TransferSample:
    """One profiler window or one trace file. `devices` empty + a problem = unknown, never "no copies"."""

    source: str  # xspace | kineto
    devices: dict[str, DeviceTransfers]
    steps: int
    step_ns: float | None  # mean over whole steps
    input_wait_ns: float | None  # total, host side; None when the file cannot tell
    input_wait_idle_ns: float | None  # part of it during which every device idled
    kind_inferred: bool = False
    problems: tuple[str, ...] = field(default=())
    step_wait_ns: float | None = None  # the part of input_wait_ns that belongs to whole steps

    @property
    def input_wait_share(self) -> float | None:
        """Of the step time: what was waited outside the steps is in neither of the two."""
        waited_ns = self.input_wait_ns if self.step_wait_ns is None else self.step_wait_ns
        if waited_ns is None or not self.steps or not self.step_ns:
            return None
        return waited_ns / (self.steps * self.step_ns)
