"""The report: one value that every renderer takes. Schema 2; files of schema 1 are still read."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from feedwatch.model.pipeline import Stage, WorkerTime
from feedwatch.model.steps import EpochBoundaries, Startup
from feedwatch.model.timeline import TimelineSection
from feedwatch.model.trial import TrialSection
from feedwatch.model.verdict import Finding, Verdict

SCHEMA: Final = 2
READABLE_SCHEMAS: Final = (1, 2)

SettingValue = str | int | float | bool | None


class Status(str, Enum):
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class RunSection:
    framework: str
    version: str
    backend: str
    device: str
    rank: int
    world_size: int
    started: float  # seconds since 1970
    updated: float


@dataclass(frozen=True, slots=True)
class StepsSection:
    measured: int
    warmup: int
    dropped: int
    batches: int
    samples: int | None


@dataclass(frozen=True, slots=True)
class PhaseSection:
    ms: float  # median
    p95_ms: float | None
    share: float  # of the wall time of the measured steps
    mean_ms: float | None = None  # per step; the means of all phases add up to the mean step


@dataclass(frozen=True, slots=True)
class PartSection:
    ms: float  # per batch
    share: float


@dataclass(frozen=True, slots=True)
class AccountSection:
    """Wall time of the run from its first steady step on, per batch: the parts add up to `batch_ms`. They are those of
    whole epochs: the start of a run is not in it, so a run of three epochs has seen only two epoch starts.
    """

    batches: int
    epochs: int  # epoch starts in it
    seconds: float  # measured
    batch_ms: float
    parts: dict[str, PartSection | None]  # input_wait, h2d, compute, other, epoch_start, validation, gap


@dataclass(frozen=True, slots=True)
class ModelSection:
    """Whether the model of the supply explains the run as it is."""

    explains: bool
    error: float | None  # measured / modelled time per batch; 1.0 is perfect; None: it could not be modelled
    note: str | None = None  # why there is no change to compare, or why gains are uncertain


@dataclass(frozen=True, slots=True)
class Mark:
    step: int
    label: str


@dataclass(frozen=True, slots=True)
class SeriesSection:
    """The run's history, decimated to at most 400 points; mean ms per step of each point."""

    step: tuple[int, ...] = ()
    input_wait: tuple[float | None, ...] = ()
    h2d: tuple[float | None, ...] = ()
    compute: tuple[float | None, ...] = ()
    other: tuple[float | None, ...] = ()
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class PipelineSection:
    kind: str
    stages: tuple[Stage, ...] = ()
    workers: tuple[WorkerTime, ...] = ()
    settings: dict[str, SettingValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CopyKind:
    copies: int
    mb: float
    gb_per_s: float | None


@dataclass(frozen=True, slots=True)
class TransfersSection:
    source: str
    windows: int
    copies: float  # per step
    mb_per_step: float
    gb_per_s: float | None
    by_kind: dict[str, CopyKind]
    hidden_share: float | None
    exposed_ms_per_step: float | None
    link_gb_per_s: float | None


@dataclass(frozen=True, slots=True)
class DeviceSection:
    utilisation: float | None
    memory_used_share: float | None
    pcie_rx_gb_per_s: float | None
    idle_share: float | None


@dataclass(frozen=True, slots=True)
class HostSection:
    cpu_budget: float | None
    cpu_used: float | None
    iowait_share: float | None
    ram_available_gb: float | None


@dataclass(frozen=True, slots=True)
class RankLine:
    rank: int
    stall_ratio: float | None
    step_ms: float | None
    input_wait_ms: float | None


@dataclass(frozen=True, slots=True)
class RanksSection:
    """Made by whoever reads several ranks' files: the slowest, the median and the spread, not every history."""

    count: int
    world_size: int
    missing: int
    slowest: RankLine | None
    median_input_wait_ms: float | None
    max_input_wait_ms: float | None
    lines: tuple[RankLine, ...] = ()  # at most 16: the ranks that wait longest


@dataclass(frozen=True, slots=True)
class SelfSection:
    overhead_ratio: float | None
    us_per_step: float | None
    profiler_windows: int
    dropped_windows: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    status: Status
    run: RunSection
    clock: str  # device | host
    steps: StepsSection
    verdict: Verdict
    phases: dict[str, PhaseSection | None]
    startup: Startup
    epoch_boundary: EpochBoundaries
    series: SeriesSection
    pipeline: PipelineSection
    transfers: TransfersSection | None
    device: DeviceSection | None
    host: HostSection
    findings: tuple[Finding, ...]
    self_cost: SelfSection  # "self" in JSON
    ranks: RanksSection | None = None
    account: AccountSection | None = None  # None in files of schema 1, and before the first steady step
    model: ModelSection | None = None  # None where the input could not be modelled
    trial: TrialSection | None = None  # None: no trial was made
    timeline: TimelineSection | None = None  # some steps as they were; None where none was kept
    feedwatch: str = ""  # version that wrote it
    schema: int = SCHEMA
