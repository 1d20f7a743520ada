"""FW126: every epoch repeats work whose result is the same and fits in memory."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.cpu import cpu_saturated
from feedwatch.advise.questions.tf_data import (
    DOMINANT_SHARE,
    HANDOVER_MS,
    TfLook,
    lane_ms,
    starved_tf_data,
    unexplained,
    works_ahead,
)
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import comment, place
from feedwatch.advise.step_model import Supply, cpu_budget, serial_gain, supplied_gain
from feedwatch.advise.symptoms import ALL_CPUS_BUSY, GPU_NO_FASTER
from feedwatch.model.pipeline import TfStage
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import ms, percent, size

# Half of the free memory. The other half stays free for everything else.
MOST_OF_MEMORY: Final = 0.5
# A shuffle behind the cache still changes the order. A cache behind the shuffle would repeat one order in every epoch.
STOPS: Final = ("Shuffle", "ShuffleAndRepeat", "Repeat", "Batch", "ParallelBatch", "Prefetch")
# Reading an element from memory costs a copy: a fiftieth of the work at best, a fifth where the work is cheap.
BEST_LEFT: Final = 0.02
WORST_LEFT: Final = 0.2


def check(case: Case) -> Evidence | None:
    look, free_gb = starved_tf_data(case), case.facts.host.ram_available_gb
    # In the only epoch of a run a cache is written and never read.
    if look is None or free_gb is None or look.data.epoch_bytes is None or case.boundaries.count < 1:
        return None
    stages = _same_every_epoch(look)
    needs_ms = _needs_ms(case)
    total_ms = sum(needs_ms(stage) for stage in look.data.stages)
    same_ms = sum(needs_ms(stage) for stage in stages)
    if not stages or total_ms <= 0 or same_ms / total_ms < DOMINANT_SHARE:
        return None
    if look.data.epoch_bytes > MOST_OF_MEMORY * free_gb * 1e9:
        return None
    last = stages[-1]
    return Evidence(
        says=(
            f"Up to {place(last)} the pipeline makes the same elements in every epoch: {ms(same_ms)} of "
            f"{ms(total_ms)} per batch ({percent(same_ms / total_ms)}). They take {size(look.data.epoch_bytes)}; "
            f"{size(free_gb * 1e9)} of memory are free."
        ),
        numbers={
            "repeated_ms": same_ms,
            "pipeline_ms": total_ms,
            "epoch_bytes": float(look.data.epoch_bytes),
            "ram_available_bytes": free_gb * 1e9,
            "rest_ms": look.times.rest_ms,
            "wait_ms": look.times.wait_ms,
        },
        blanks={"place": place(last), "comment": comment(last)},
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    look = starved_tf_data(case)
    if look is None:
        return None
    same_ms, total_ms = evidence.numbers["repeated_ms"], evidence.numbers["pipeline_ms"]
    best, worst = (total_ms - (1 - left) * same_ms for left in (BEST_LEFT, WORST_LEFT))
    because = (
        f"from the second epoch on a batch takes {ms(best)} to {ms(worst)} instead of {ms(total_ms)}; the rest of "
        f"the step needs {ms(look.times.rest_ms)}"
    )
    if not works_ahead(look.data):
        return serial_gain(look.times, (min(best, look.times.wait_ms), min(worst, look.times.wait_ms)), because)
    off = unexplained(case, look)
    scale, lanes = min(1.0, off), _cpus(case)
    fast, slow = (
        Supply(scale * new, lanes, scale * new, scale * (total_ms - new), HANDOVER_MS) for new in (best, worst)
    )
    slow = replace(slow, load_ms=slow.load_ms * max(1.0, off))
    return supplied_gain(case, look.times, fast, because, worst=slow)


def _cpus(case: Case) -> float:
    """CPUs that the pipeline's stages share: all of them where all are in use, else one."""
    return (cpu_budget(case) or 1.0) if cpu_saturated(case) else 1.0


def _needs_ms(case: Case) -> Callable[[TfStage], float]:
    """What a stage costs a batch: its work where CPUs are short, else the time in which it can deliver one."""
    return _work_ms if cpu_saturated(case) else lane_ms


def _work_ms(stage: TfStage) -> float:
    return stage.ms_per_batch or 0.0


def _same_every_epoch(look: TfLook) -> list[TfStage]:
    """The stages from the source up to the first that is random, shuffles or batches; none when there is a cache."""
    if any(stage.op == "Cache" for stage in look.data.stages):
        return []
    kept: list[TfStage] = []
    for stage in look.data.stages:
        mapping = stage.op in ("Map", "ParallelMap", "MapAndBatch")
        if stage.op in STOPS or stage.random or (mapping and stage.random is None):
            break
        kept.append(stage)
    return kept


RULE: Final = Rule(
    code="FW126",
    name="uncached-work",
    title="Keep the results: .cache() after $place",
    before="dataset = dataset  # up to $place: the same work in every epoch$comment",
    after="dataset = dataset.cache()  # right after $place, before shuffle, random augmentation and batch",
    page=Page(
        sees=(
            "Deterministic stages that are the larger part of the pipeline's work, whose results for "
            "one epoch fit in half of the free memory, in a run of several epochs."
        ),
        why=(
            "Reading, decoding and resizing give the same elements every time. Without a cache that "
            "work is repeated in every epoch."
        ),
        fix=(
            "Put `.cache()` behind the last deterministic stage and before `shuffle`, random "
            "augmentation and `batch`. `.cache(filename)` keeps it on a local disk instead of in "
            "memory."
        ),
        leave=(
            "When the data set grows, when other processes need the memory, or when there is only one "
            "epoch. A cache in front of a cheap stage gains nothing."
        ),
        references=(
            "https://www.tensorflow.org/guide/data_performance#caching",
            "https://www.tensorflow.org/api_docs/python/tf/data/Dataset#cache",
        ),
    ),
    symptoms=(ALL_CPUS_BUSY, GPU_NO_FASTER),
    relieves=Bound.INPUT,
    edit_lines=1,
    needs=(
        "EpochBoundaries.count",
        "HostFacts.ram_available_gb",
        "TfDataFacts.epoch_bytes",
        "TfStage.ms_per_batch",
        "TfStage.random",
    ),
    check=check,
    predict=predict,
)
