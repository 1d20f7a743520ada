"""What rules ask about batches that are made in Python: by a DataLoader, a PyDataset or a generator."""

import math
from typing import Final, NamedTuple

from feedwatch.advise.case import Case
from feedwatch.advise.questions.cpu import crowded
from feedwatch.advise.step_model import StepTimes, Supply, cpu_budget, input_bound_times
from feedwatch.model.pipeline import LoaderFacts
from feedwatch.words import count, ms

# Workers that mostly wait for storage may outnumber the CPUs, but not without end: each costs memory and a process.
MOST_WORKERS_PER_CPU: Final = 4


class LoaderLook(NamedTuple):
    """An input-bound run that reads from a torch DataLoader."""

    loader: LoaderFacts
    times: StepTimes


class WorkerPlan(NamedTuple):
    """How many DataLoader workers a run needs, and how many the CPUs carry."""

    needed: int  # to supply a batch as often as the rest of the step can take one
    carried: int  # what the CPU budget has room for
    supply: Supply  # with the smaller of both

    @property
    def workers(self) -> int:
        return min(self.needed, self.carried)


def starved_loader(case: Case) -> LoaderLook | None:
    times, loader = input_bound_times(case), case.facts.pipeline.loader
    return None if times is None or loader is None else LoaderLook(loader, times)


def load_ms(look: LoaderLook) -> float | None:
    """One batch on one worker. Without workers nothing overlaps: the wait is the load."""
    if look.loader.load_ms is not None:
        return look.loader.load_ms
    return look.times.wait_ms if look.loader.num_workers == 0 else None


def load_cpu_ms(case: Case, loader: LoaderFacts, batch_load_ms: float) -> float:
    """The CPU part of loading. When it is not known, all of it: advising too few workers is the smaller mistake."""
    if loader.cpu_share is None:
        return batch_load_ms
    # What did not compute waited for storage or, on a machine that other processes fill, for a core.
    waited_for_core = loader.core_wait_share
    if waited_for_core is None:
        waited_for_core = 1 - loader.cpu_share if crowded(case) else 0.0
    return batch_load_ms * min(1.0, loader.cpu_share + waited_for_core)


def indexes_memory(loader: LoaderFacts) -> bool:
    """Items, or with automatic batching off whole batches, are slices of what the data set holds in memory."""
    return loader.in_memory is True or (loader.batch_size is None and bool(loader.dataset_bytes))


def plan_workers(case: Case, look: LoaderLook, batch_load_ms: float) -> WorkerPlan | None:
    budget = cpu_budget(case)
    if budget is None or batch_load_ms <= 0:
        return None
    cpu_ms = load_cpu_ms(case, look.loader, batch_load_ms)
    busy_share = max(cpu_ms / batch_load_ms, 1 / MOST_WORKERS_PER_CPU)
    carried = max(1, math.floor(budget / busy_share + 1e-6))
    needed = max(1, math.ceil(batch_load_ms / max(look.times.rest_ms, 0.01 * batch_load_ms) - 1e-6))
    lanes = min(needed, carried)
    return WorkerPlan(needed, carried, Supply(batch_load_ms, lanes, cpu_ms))


def supplied(workers: float, period_ms: float) -> str:
    """1 worker supplies, 2 workers supply a batch every 20 ms."""
    who = count(workers, "worker")
    return f"{who} {'supplies' if who == '1 worker' else 'supply'} a batch every {ms(period_ms)}"


def one_lane_load_ms(case: Case, times: StepTimes) -> float | None:
    """One batch of a pipeline that makes one batch at a time.

    On the TensorFlow backend Keras puts a prefetch behind generators and PyDatasets: input and compute already overlap
    there, so the step takes as long as the load. On the other backends they take turns and the wait is the load.
    """
    measured = case.facts.pipeline.load_ms
    if measured is not None:
        return measured
    return times.step_ms if case.facts.run.backend == "tensorflow" else times.wait_ms
