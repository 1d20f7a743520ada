"""Everything a rule may know about a run besides its times."""

from dataclasses import dataclass, field

from feedwatch.model.pipeline import PipelineFacts
from feedwatch.model.transfers import TransferSample

UNKNOWN_PIPELINE = PipelineFacts(kind="unknown")


@dataclass(frozen=True, slots=True)
class RunFacts:
    framework: str  # keras | lightning | torch
    version: str
    backend: str  # tensorflow | torch | jax
    device: str  # cpu, cuda:0 (NVIDIA A10G), …
    device_kind: str = "cpu"  # cpu | cuda | xpu | mps | tpu | rocm
    device_name: str | None = None
    device_id: str | None = None  # a GPU's UUID or PCI bus id, where the framework tells it; in no output
    rank: int = 0
    world_size: int = 1
    local_ranks: int = 1  # ranks that share this machine's CPUs
    started_s: float = 0.0
    run_eagerly: bool | None = None
    steps_per_execution: int = 1
    precision: str | None = None  # 32-true, bf16-mixed, mixed_float16, …
    batch_size: int | None = None
    retraces: int | None = None  # traces of the train function after warm-up
    tensor_cores: bool | None = None
    other_profiler: str | None = None  # another profiler that is active or about to start
    synchronises: str | None = None  # what reads a device value at every step, by name


@dataclass(frozen=True, slots=True)
class BatchFacts:
    """What one batch looks like when it leaves the loader."""

    size_bytes: int
    tensors: int
    dtypes: dict[str, int] = field(default_factory=dict)  # bytes per dtype
    pinned: bool | None = None
    device: str = "cpu"
    integral_floats: bool | None = None  # float values that are whole numbers in 0..255: a uint8 in disguise
    custom_transfer: str | None = None  # an overridden transfer hook, by name
    non_blocking: bool | None = None


@dataclass(frozen=True, slots=True)
class HostFacts:
    cpu_budget: float | None = None  # CPUs this process may use: affinity and cgroup quota
    cpu_used: float | None = None  # CPUs in use by this process and its children
    machine_cpu_share: float | None = None  # of the whole machine, used by all processes
    iowait_share: float | None = None
    ram_available_gb: float | None = None


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """From NVML, sampled about once a second."""

    name: str | None = None
    utilisation: float | None = None  # 0..1: some kernel ran
    memory_used_share: float | None = None
    memory_total_bytes: int | None = None
    memory_free_bytes: int | None = None
    pcie_rx_gb_per_s: float | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    pcie_max_generation: int | None = None
    pcie_max_width: int | None = None
    link_gb_per_s: float | None = None  # what the link can carry as it runs now
    max_link_gb_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class CallbackTime:
    """Another callback or logger of the user's, by name."""

    name: str
    ms_per_step: float


@dataclass(frozen=True, slots=True)
class Transfers:
    """Profiler windows of this run, folded."""

    source: str  # xspace | kineto
    windows: int
    sample: TransferSample  # the latest, or the fold of all of them
    device: str  # the device whose figures the report shows: the one that got the most bytes


@dataclass(frozen=True, slots=True)
class Facts:
    run: RunFacts
    pipeline: PipelineFacts = UNKNOWN_PIPELINE
    host: HostFacts = HostFacts()
    batch: BatchFacts | None = None
    transfers: Transfers | None = None
    device: DeviceFacts | None = None
    callbacks: tuple[CallbackTime, ...] = ()
    notes: tuple[str, ...] = ()  # what was not measured and why
