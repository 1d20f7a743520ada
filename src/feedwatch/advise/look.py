"""What several rules ask of a case. Each answer is None when the fact is missing: the rule then stays silent."""

from typing import NamedTuple

from feedwatch.advise.case import Case
from feedwatch.advise.step_model import StepTimes, step_times
from feedwatch.model.pipeline import LoaderFacts, TfDataFacts, TfStage
from feedwatch.model.verdict import Bound


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
    times, data = input_bound_times(case), case.facts.pipeline.tf_data
    return None if times is None or data is None or not data.stages else TfLook(data, times)


def load_ms(look: LoaderLook) -> float | None:
    """One batch on one worker. Without workers nothing overlaps: the wait is the load."""
    if look.loader.load_ms is not None:
        return look.loader.load_ms
    return look.times.wait_ms if look.loader.num_workers == 0 else None


def load_cpu_ms(loader: LoaderFacts, batch_load_ms: float) -> float:
    """Not knowing how much of it is computing, take all of it: too few workers advised is the smaller mistake."""
    return batch_load_ms if loader.cpu_share is None else batch_load_ms * loader.cpu_share


def last_working_stage(data: TfDataFacts) -> TfStage:
    """The last stage that does something: repeat, take and options only pass elements on."""
    passing = {"Repeat", "Take", "Skip", "Options", "AssertCardinality", "Model", "Root"}
    working = [stage for stage in data.stages if stage.op not in passing]
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
