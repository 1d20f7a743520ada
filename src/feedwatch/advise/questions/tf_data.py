"""What rules ask about a tf.data pipeline, and what it supplies when one of its stages changes."""

import math
from dataclasses import replace
from typing import Final, NamedTuple

from feedwatch.advise.case import Case
from feedwatch.advise.questions.cpu import computes
from feedwatch.advise.step_model import StepTimes, Supply, cpu_budget, input_bound_times, supplied_gain
from feedwatch.model.pipeline import TfDataFacts, TfStage
from feedwatch.model.verdict import Gain

# These stages only pass elements on.
PASSING: Final = ("Repeat", "Take", "Skip", "Options", "AssertCardinality", "Restructured", "Variant", "Shard")
# In one process a mutex passes a finished batch on: 0.05-0.10 ms measured, 1 ms when cores are short.
HANDOVER_MS: Final = (0.05, 1.0)
# The larger part of what the pipeline does.
DOMINANT_SHARE: Final = 0.5


class TfLook(NamedTuple):
    """An input-bound run that reads from tf.data."""

    data: TfDataFacts
    times: StepTimes


def starved_tf_data(case: Case) -> TfLook | None:
    times, pipeline = input_bound_times(case), case.facts.pipeline
    data = pipeline.tf_data if pipeline.kind == "tf.data" else None
    return None if times is None or data is None or not data.stages else TfLook(data, times)


def last_working_stage(data: TfDataFacts) -> TfStage:
    """The last stage that does more than pass elements on."""
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
    """Whether the interpreter's lock holds this stage back. Python code that only waits releases the lock."""
    if not is_python(stage):
        return False if stage.python is False else None
    return computes(case, lane_ms(stage))


def works_ahead(data: TfDataFacts) -> bool:
    """A prefetch at the end lets the pipeline run while the step computes.

    tf.data's optimiser may inject one, or fuse stages into one that works ahead: what runs counts first.
    """
    if data.keras_prefetch or data.works_ahead is not None:
        return data.keras_prefetch or bool(data.works_ahead)
    return last_working_stage(data).op == "Prefetch"


def stage_share(data: TfDataFacts, stage: TfStage) -> float | None:
    """Of the pipeline's time per batch, where parallel calls count as the time they take together."""
    total_ms = sum(lane_ms(one) for one in data.stages)
    return None if stage.ms_per_batch is None or total_ms <= 0 else lane_ms(stage) / total_ms


def parallel_lanes(case: Case, data: TfDataFacts) -> int | None:
    """What AUTOTUNE would give a stage: tf.data never runs more calls in parallel than it sees CPUs."""
    budget = cpu_budget(case)
    if budget is None:
        return None
    return max(1, math.floor((budget if data.cpu_budget is None else min(budget, data.cpu_budget)) + 1e-6))


def changed_gain(
    case: Case, look: TfLook, stage: TfStage, *, lanes: float, left: tuple[float, float], because: str
) -> Gain:
    """The stage runs in `lanes` and keeps these shares (best, worst) of its time; the others stay as they are."""
    off = unexplained(case, look)
    best, worst = (_supply(look, stage, lanes, share, min(1.0, off)) for share in left)
    worst = replace(worst, load_ms=worst.load_ms * max(1.0, off))
    return supplied_gain(case, look.times, best, because, worst=worst)


def unexplained(case: Case, look: TfLook) -> float:
    """The step as measured over the step that tf.data's own figures give, where the pipeline sets the pace.

    Above 1 the figures miss threads that wait for a core or for one another: at worst the new pipeline loses as much
    again. Below 1 they are too high (they follow the last moments, the step is a mean of the run) and are scaled.
    """
    pipeline, times = case.facts.pipeline, look.times
    if not works_ahead(look.data) or not pipeline.load_ms or not pipeline.lanes:
        return 1.0
    return times.step_ms / max(pipeline.load_ms / pipeline.lanes, times.rest_ms, 1e-9)


def _supply(look: TfLook, stage: TfStage, lanes: float, left_share: float, scale: float) -> Supply:
    now_ms = scale * (stage.ms_per_batch or 0.0)
    others_ms = scale * sum(lane_ms(one) for one in look.data.stages if one is not stage)
    period_ms = now_ms * left_share / lanes
    saved_ms = now_ms * (1 - left_share)
    if works_ahead(look.data):
        # One thread of the prefetch pulls the other stages; the parallel one feeds it.
        period_ms = max(period_ms, others_ms) if lanes > 1 else period_ms + others_ms
        return Supply(period_ms, 1, now_ms * left_share + others_ms, saved_ms, HANDOVER_MS)
    # Without a prefetch the other stages run while the step waits. So does this stage, unless it runs in parallel.
    exposed_ms = others_ms if lanes > 1 else others_ms + period_ms
    handover_ms = (HANDOVER_MS[0] + exposed_ms, HANDOVER_MS[1] + exposed_ms)
    return Supply(period_ms, 1, now_ms * left_share + others_ms, saved_ms, handover_ms)
