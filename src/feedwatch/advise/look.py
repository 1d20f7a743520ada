"""What several rules ask of a case. Each answer is None when the fact is missing: the rule then stays silent."""

from typing import Final, NamedTuple

from feedwatch.advise.case import Case
from feedwatch.advise.step_model import StepTimes, cpu_budget, step_times
from feedwatch.model.pipeline import LoaderFacts, TfDataFacts, TfStage
from feedwatch.model.verdict import Bound

PASSING: Final = ("Repeat", "Take", "Skip", "Options", "AssertCardinality", "Restructured", "Variant", "Shard")
# The last tenth of a budget is never used: kernel, interrupts and the measuring itself take it.
SATURATED_SHARE: Final = 0.9
# Workers that wait a fifth of their busy time for a core are too many for the cores, whatever the totals say.
CORE_WAIT_SHARE: Final = 0.2

# On a full machine, this much of it in other hands.
OTHERS_SHARE: Final = 0.25
# Work that computes burns about as much CPU time as it takes; work that waits burns next to none.
COMPUTING_SHARE: Final = 0.7
# What two that both want a CPU get of it.
CROWDED_SHARE: Final = 0.5
# A training step on a CPU device computes for a quarter of its time at least; on another device its thread may sleep.
TRAINING_CPU_SHARE: Final = 0.25


class LoaderLook(NamedTuple):
    """An input-bound run that reads from a torch DataLoader."""

    loader: LoaderFacts
    times: StepTimes


class TfLook(NamedTuple):
    """An input-bound run that reads from tf.data."""

    data: TfDataFacts
    times: StepTimes


def input_bound_times(case: Case) -> StepTimes | None:
    return step_times(case) if case.verdict.bound is Bound.INPUT else None


def starved_loader(case: Case) -> LoaderLook | None:
    times, loader = input_bound_times(case), case.facts.pipeline.loader
    return None if times is None or loader is None else LoaderLook(loader, times)


def starved_tf_data(case: Case) -> TfLook | None:
    times, pipeline = input_bound_times(case), case.facts.pipeline
    data = pipeline.tf_data if pipeline.kind == "tf.data" else None
    return None if times is None or data is None or not data.stages else TfLook(data, times)


def cpu_saturated(case: Case) -> bool | None:
    """Whether this run uses the whole CPU budget; None when neither figure is known."""
    budget, used, loader = cpu_budget(case), case.facts.host.cpu_used, case.facts.pipeline.loader
    core_wait = None if loader is None else loader.core_wait_share
    if (budget is None or used is None) and core_wait is None:
        return None
    by_use = budget is not None and used is not None and used >= SATURATED_SHARE * budget
    # Workers that mostly wait for storage leave cores alone, even when others make them queue for one.
    storage = loader is not None and loader.blocked_share is not None and loader.blocked_share >= 0.5
    return by_use or (core_wait is not None and core_wait >= CORE_WAIT_SHARE and not storage)


def load_ms(look: LoaderLook) -> float | None:
    """One batch on one worker. Without workers nothing overlaps: the wait is the load."""
    if look.loader.load_ms is not None:
        return look.loader.load_ms
    return look.times.wait_ms if look.loader.num_workers == 0 else None


def load_cpu_ms(case: Case, loader: LoaderFacts, batch_load_ms: float) -> float:
    """Not knowing how much of it is computing, take all of it: too few workers advised is the smaller mistake."""
    if loader.cpu_share is None:
        return batch_load_ms
    # What did not compute either waited for storage or, on a machine that others fill, for a core.
    waited_for_core = loader.core_wait_share
    if waited_for_core is None:
        waited_for_core = 1 - loader.cpu_share if crowded(case) else 0.0
    return batch_load_ms * min(1.0, loader.cpu_share + waited_for_core)


def indexes_memory(loader: LoaderFacts) -> bool:
    """Items, or with automatic batching off whole batches, are slices of what the data set holds in memory."""
    return loader.in_memory is True or (loader.batch_size is None and bool(loader.dataset_bytes))


def crowded(case: Case) -> bool:
    """Others leave this run no CPU: what waits and what computes can then not be told apart from outside."""
    share, used, budget = case.facts.host.machine_cpu_share, case.facts.host.cpu_used, cpu_budget(case)
    if share is None or used is None or not budget:
        return False
    return share >= SATURATED_SHARE and share - used / budget >= OTHERS_SHARE


def last_working_stage(data: TfDataFacts) -> TfStage:
    """The last stage that does something: repeat, take and options only pass elements on."""
    working = [stage for stage in data.stages if stage.op not in PASSING]
    return working[-1] if working else data.stages[-1]


def slowest_stage(data: TfDataFacts) -> TfStage | None:
    """By time per batch divided by its parallel calls; None when tf.data's model gave no times."""
    timed = [stage for stage in data.stages if stage.ms_per_batch is not None]
    return max(timed, key=lane_ms, default=None)


def lane_ms(stage: TfStage) -> float:
    """How often this stage can deliver a batch."""
    return (stage.ms_per_batch or 0.0) / lanes(stage)


def lanes(stage: TfStage) -> int:
    """Parallel calls now; without tf.data's model, as written."""
    if stage.parallelism_now is not None:
        return max(1, stage.parallelism_now)
    return stage.parallelism if stage.parallelism is not None and stage.parallelism > 0 else 1


def is_python(stage: TfStage) -> bool:
    return stage.python is True or stage.op == "FromGenerator"


def python_is_limit(case: Case, stage: TfStage) -> bool | None:
    """Whether the interpreter's lock holds this stage back. Python that only waits gives the lock away."""
    if not is_python(stage):
        return False if stage.python is False else None
    return computes(case, lane_ms(stage))


def computes(case: Case, work_ms: float) -> bool | None:
    """Whether this work per batch is computing: the process burns enough CPU time for it beside the training step.

    None when that is not known, or when the run gets too little CPU time to show it.
    """
    used, times = case.facts.host.cpu_used, step_times(case)
    if used is None or times is None:
        return None
    training_ms = TRAINING_CPU_SHARE * times.rest_ms if case.facts.run.device_kind == "cpu" else 0.0
    # A batch is made per step: calls that hold each other up (the interpreter's lock) count their waiting twice.
    work_ms = min(work_ms, times.step_ms)
    burnt_ms, needed_ms = used * times.step_ms, COMPUTING_SHARE * work_ms + training_ms
    if not crowded(case):
        return burnt_ms >= needed_ms
    # Who shares the CPUs gets them half of the time: less than that proves nothing either way.
    return True if burnt_ms >= needed_ms * CROWDED_SHARE else None


def one_lane_load_ms(case: Case, times: StepTimes) -> float | None:
    """One batch of a pipeline that makes one at a time.

    TensorFlow's Keras puts a prefetch behind generators and PyDatasets: input and compute already overlap there, so the
    step takes as long as the load. Elsewhere they take turns and the wait is the load.
    """
    measured = case.facts.pipeline.load_ms
    if measured is not None:
        return measured
    return times.step_ms if case.facts.run.backend == "tensorflow" else times.wait_ms
