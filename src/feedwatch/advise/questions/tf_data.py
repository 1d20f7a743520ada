"""What rules ask about a tf.data pipeline, and the same pipeline with one stage changed."""

import math
from dataclasses import dataclass, replace
from typing import Final

from feedwatch.advise.as_is import MB_MS, ONE_LANE, UNIT_MS, is_python, mostly_python
from feedwatch.advise.case import Case
from feedwatch.advise.plan import Plan, Work
from feedwatch.advise.supply import Supply, supply
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.account import EPOCH_START
from feedwatch.model.pipeline import TfDataFacts, TfStage
from feedwatch.model.steps import INPUT_WAIT

# Half of the free memory. The other half stays free for everything else.
MOST_OF_MEMORY: Final = 0.5
# Reading from a cache costs a moment per element, and a copy of its bytes when the batch is put together: measured with
# batches of 0.01 to 5.5 MB, in units of a handover that was measured on this machine (probe/handover.py).
READ_UNITS: Final = 0.03
READ_MB: Final = 0.3
# At best and at worst, of that.
READ_RANGE: Final = (0.5, 2.0)
# Ending an epoch and beginning the next takes Keras so long with data in memory, at best and at worst, besides waits
# for tf.data's tuner (measured on pipelines of 8 to 100 batches per epoch, with a cache and with one batch in memory).
EPOCH_START_MS: Final = (2.0, 8.0)
# Where nothing loads beside it, the tuner is woken more often at the end of an epoch: so much of the waits is left
# (measured: a fifth of the ends with data in memory, two fifths without).
STILL_ASLEEP: Final = 0.5
# Stages that do something; a cache behind the others saves nothing.
WORKING: Final = frozenset(
    {"Map", "ParallelMap", "MapAndBatch", "Interleave", "ParallelInterleave", "FlatMap", "FromGenerator", "TFRecord",
     "TextLine", "FixedLengthRecord", "Filter"}
)  # fmt: skip
MAPS: Final = frozenset({"Map", "ParallelMap", "MapAndBatch", "Filter"})


@dataclass(frozen=True, slots=True)
class TfLook:
    """A run that reads from tf.data, explained by the model."""

    case: Case
    data: TfDataFacts
    supply: Supply

    @property
    def plan(self) -> Plan:
        return self.supply.plan

    @property
    def numbers(self) -> dict[str, float]:
        account = self.supply.account
        return {
            "step_ms": self.plan.step_ms,
            "wait_ms": account.ms(INPUT_WAIT) or 0.0,
            "batch_ms": account.batch_ms,
            "cpu_budget": self.plan.cpus,
        }


def tf_look(case: Case) -> TfLook | None:
    """Only where the stages have times of their own: without them nothing can be compared."""
    pipeline, known = case.facts.pipeline, supply(case)
    data = pipeline.tf_data
    if known is None or not known.usable or data is None or len(known.plan.loading) != len(data.stages):
        return None
    if known.plan.loading[0].name == ONE_LANE:  # what stands for the whole pipeline is none of its stages
        return None
    return TfLook(case, data, known)


def stage_work(look: TfLook, stage: TfStage) -> Work:
    return look.plan.loading[look.data.stages.index(stage)]


def slowest(look: TfLook) -> TfStage | None:
    """The stage that delivers a batch least often."""
    timed = [stage for stage in look.data.stages if stage_work(look, stage).busy_ms > 0]
    return max(timed, key=lambda stage: stage_work(look, stage).busy_ms / stage_work(look, stage).lanes, default=None)


def parallel_calls(look: TfLook) -> int:
    """What AUTOTUNE would give a stage: tf.data never runs more calls in parallel than it sees CPUs."""
    budget = look.plan.cpus if look.data.cpu_budget is None else min(look.plan.cpus, look.data.cpu_budget)
    return max(1, math.floor(budget + 1e-6))


def parallel(look: TfLook, stage: TfStage, calls: float) -> Plan:
    """The stage runs so many calls at once, on threads of its own."""
    at = look.data.stages.index(stage)
    work = look.plan.loading[at]
    lanes = max(work.lanes, calls)
    changed = replace(work, lanes=lanes, threads=-1 - at)
    # The first batch of an epoch is made by the same calls.
    account = look.supply.account
    first_ms = min(look.plan.start_ms, account.ms(EPOCH_START) or 0.0)
    sooner = replace(look.plan, start_ms=look.plan.start_ms - first_ms * (1 - work.lanes / lanes))
    return own_thread(replace(sooner, loading=(*look.plan.loading[:at], changed, *look.plan.loading[at + 1 :])), at)


def own_thread(plan: Plan, at: int) -> Plan:
    """What stands before a stage that works ahead no longer shares the threads of what stands behind it."""
    moved = tuple(
        replace(work, threads=-1000 - work.threads) if index < at and work.threads >= 0 else work
        for index, work in enumerate(plan.loading)
    )
    return replace(plan, loading=moved)


def cheaper(look: TfLook, stage: TfStage, left: float, lanes: float | None = None, *, python: bool = True) -> Plan:
    """The stage keeps this share of its work."""
    at = look.data.stages.index(stage)
    work = look.plan.loading[at]
    changed = replace(
        work,
        cpu_ms=work.cpu_ms * left,
        wait_ms=work.wait_ms * left,
        lanes=work.lanes if lanes is None else lanes,
        lock_ms=work.lock_ms * left if python else 0.0,
    )
    return replace(look.plan, loading=(*look.plan.loading[:at], changed, *look.plan.loading[at + 1 :]))


@dataclass(frozen=True, slots=True)
class CacheChange:
    """A cache behind the last stage whose result is the same in every epoch."""

    last: TfStage  # the cache stands behind it
    same_ms: float  # of work per batch that is not done again
    epoch_bytes: float
    free_bytes: float
    shuffle: TfStage | None  # a shuffle before it moves behind it, or every epoch would have one order
    best: Plan
    worst: Plan


def cache_change(look: TfLook) -> CacheChange | None:
    """None: there is nothing to keep, it is not the same in every epoch, it does not fit, or that is not known."""
    account, free_gb = look.supply.account, look.case.facts.host.ram_available_gb
    if look.case.facts.pipeline.kind != "tf.data" or _endless(look) or free_gb is None or not account.epochs:
        return None
    last = _last_same(look)
    if last is None:
        return None
    at = look.data.stages.index(last)
    epoch_bytes = _epoch_bytes(look, last)
    if epoch_bytes is None or epoch_bytes > MOST_OF_MEMORY * free_gb * 1e9:
        return None
    before = look.data.stages[: at + 1]
    shuffle = next((stage for stage in before if stage.op.startswith("Shuffle")), None)
    same_ms = sum(work.busy_ms for work in look.plan.loading[: at + 1])
    read_ms = min(same_ms, _read_ms(look, last))
    left = _functions_left(look, at)
    best, worst = (
        _cached(look, at, read_ms * more, start_ms, part)
        for more, start_ms, part in zip(READ_RANGE, EPOCH_START_MS, (left, 1.0 if left else 0.0), strict=True)
    )
    return CacheChange(last, same_ms, epoch_bytes, free_gb * 1e9, shuffle, best, worst)


def _endless(look: TfLook) -> bool:
    """What a generator yields has no known end; where Keras asks for a new iterator in every epoch, it had one."""
    if look.data.endless is None:
        return look.case.boundaries.loader_start_ms is None
    return look.data.endless


def _last_same(look: TfLook) -> TfStage | None:
    """The last working stage before anything random; a shuffle only changes the order, and moves behind the cache."""
    found: TfStage | None = None
    zips_left = sum(stage.op == "Zip" for stage in look.data.stages)
    for stage, work in zip(look.data.stages, look.plan.loading, strict=True):
        zips_left -= stage.op == "Zip"
        # What is zipped with data that end is repeated inside an epoch: windows of a time series are cut like that.
        if stage.op == "Repeat" and zips_left and look.data.endless is not True:
            continue
        if stage.op in ("Cache", "Repeat", "ShuffleAndRepeat") or stage.random is True:
            break
        # What nobody could look into may be different in every epoch.
        if (stage.op in MAPS or stage.op == "FromGenerator") and stage.random is None:
            break
        if stage.op in WORKING and work.busy_ms > 0:
            found = stage
    cached = any(stage.op == "Cache" for stage in look.data.stages)
    return None if cached else found


def _epoch_bytes(look: TfLook, stage: TfStage) -> float | None:
    """What the cache has to hold: the elements of one epoch as this stage hands them on."""
    batches = look.supply.account.epoch_batches or look.data.cardinality
    if stage.element_bytes is None or not batches:
        return None if look.data.epoch_bytes is None else float(look.data.epoch_bytes)
    per_batch = 1 if stage.batched else look.data.elements_per_batch
    return None if per_batch is None else float(stage.element_bytes) * per_batch * batches


def _read_ms(look: TfLook, stage: TfStage) -> float:
    """One batch's elements, read from a cache behind this stage."""
    host = look.case.facts.host
    unit_ms = UNIT_MS if host.handover_ms is None else host.handover_ms
    mb_ms = MB_MS if host.handover_ms_per_mb is None else host.handover_ms_per_mb
    elements = 1 if stage.batched else look.data.elements_per_batch or 1
    megabytes = elements * (stage.element_bytes or 0) / 1e6
    return READ_UNITS * unit_ms * elements + READ_MB * mb_ms * megabytes


def _functions_left(look: TfLook, at: int) -> float:
    """Of the user's functions: those behind this stage. Every epoch makes them anew, whatever a cache keeps."""
    users = [index for index, stage in enumerate(look.data.stages) if stage.op in MAPS or is_python(stage)]
    return sum(index > at for index in users) / len(users) if users else 0.0


def _cached(look: TfLook, at: int, read_ms: float, start_ms: float, left: float) -> Plan:
    """Everything up to this stage is read from memory; its buffer fills in no time. `left`: of what the beginning and
    the end of an epoch cost now.
    """
    last = look.plan.loading[-1].threads
    gone = Work("cached", 0.0, threads=last)
    kept = (*([gone] * (at + 1)), *look.plan.loading[at + 1 :])
    read = replace(kept[at], cpu_ms=read_ms)
    epoch_batches = look.supply.account.epoch_batches or look.supply.account.batches
    begins_ms = start_ms / epoch_batches + left * look.plan.start_ms
    return replace(
        look.plan,
        loading=(*kept[:at], read, *kept[at + 1 :]),
        cold=0.0,
        asleep=look.plan.asleep * (left + (1 - left) * STILL_ASLEEP),
        start_ms=min(look.plan.start_ms, begins_ms) if look.plan.start_ms else begins_ms,
    )


def started_slowly(look: TfLook) -> bool:
    """Most of the waiting is at epoch starts."""
    account = look.supply.account
    start, wait = account.share(EPOCH_START) or 0.0, account.share(INPUT_WAIT) or 0.0
    return start >= THRESHOLDS.bounds_share and start > wait


def start_s(look: TfLook) -> float:
    account = look.supply.account
    return (account.ms(EPOCH_START) or 0.0) * account.batches / max(1, account.epochs) / 1000


def takes_the_steps_cpus(look: TfLook) -> bool:
    """Training hardly waits, and the step shares its CPUs with the input."""
    return (look.supply.account.stall_ratio or 0.0) < THRESHOLDS.bounds_share


def surely_computes(look: TfLook) -> bool:
    """Operations of TensorFlow compute. A Python function may only wait, and hide that behind the step: it surely
    computes where the process uses more CPU time than the step could on all CPUs.
    """
    if not mostly_python(look.data):
        return True
    used, step_ms = look.case.facts.host.process_cpus, look.plan.step_ms + look.plan.relief_ms
    return used is not None and used * look.supply.account.batch_ms > step_ms * look.plan.cpus
