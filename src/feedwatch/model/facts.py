"""Everything a rule may know about a run besides its times."""

from dataclasses import dataclass, field

from feedwatch.model.pipeline import PipelineFacts
from feedwatch.model.transfers import TransferSample
from feedwatch.model.trial import TrialSection

UNKNOWN_PIPELINE = PipelineFacts(kind="unknown")


@dataclass(frozen=True, slots=True)
class RunFacts:
    framework: str  # keras | lightning | torch
    version: str
    backend: str  # tensorflow | torch | jax
    device: str  # cpu, cuda:0 (NVIDIA A10G), …
    device_kind: str = "cpu"  # cpu | cuda | rocm | xpu | mps | tpu, or torch's word for another accelerator
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
    capability: tuple[int, int] | None = None  # CUDA's number for what a GPU can do: bfloat16 units from 8.0 on
    tf32: bool | None = None  # float32 matrix products already run on tensor cores
    other_profiler: str | None = None  # another profiler that is active or about to start
    synchronises: str | None = None  # what reads a device value at every step, by name
    validations_per_epoch: float | None = None


def has_tensor_cores(name: str, capability: tuple[int, int]) -> bool:
    """They came with 7.0. The GTX 16 series calls itself 7.5 and has none."""
    return capability >= (7, 0) and "GTX 16" not in name


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
    ram_available_gb: float | None = None  # of the machine, or of the cgroup's limit where that is less
    gc_share: float | None = None  # of wall time, in this process' garbage collector
    shm_free_gb: float | None = None  # /dev/shm: what DataLoader workers hand batches over in
    # Handing a small tensor, and a megabyte, from process to process; measured once on this machine.
    handover_ms: float | None = None
    handover_ms_per_mb: float | None = None
    # CPU time by group, in CPUs; together they are cpu_used. Threads that spin while they wait are in them.
    training_cpus: float | None = None  # the thread that runs the training loop
    process_cpus: float | None = None  # all threads of this process: the training thread, math and tf.data pools, ours
    children_cpus: float | None = None  # workers
    # Time that threads were ready to run and no CPU was free, in CPUs.
    training_delay: float | None = None
    process_delay: float | None = None  # of the threads that are alive


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """From NVML, sampled about once a second; memory as the framework counts it, where it does."""

    name: str | None = None
    utilisation: float | None = None  # 0..1: some kernel ran
    memory_used_share: float | None = None  # what no tensor can get any more
    memory_total_bytes: int | None = None
    memory_free_bytes: int | None = None
    memory_held_bytes: int | None = None  # by this process, where NVML was asked
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
    ms_per_step: float  # mean over all steps
    every: float = 1.0  # it works once in so many steps


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
    trial: TrialSection | None = None  # what was measured with the input changed
