"""A cheap map is called for every element; the calls cost more than the work."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.tf_data import cheaper, slowest, stage_work, tf_look
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import comment, function_name, place
from feedwatch.advise.symptoms import ALL_CPUS_BUSY, GPU_NO_FASTER
from feedwatch.model.pipeline import TfDataFacts, TfStage
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms, number

PAGE = """
## What it sees
A cheap `map` before `batch` that is the slowest stage because it is called once per element.

## Why it costs
Calling the function costs tens of microseconds whatever it does. For a cast or a scaling that is more than the work
itself, and it is paid for every element.

## Fix
Swap the two: `batch` first, then `map` over whole batches. Casts, scaling, one-hot and most of `tf.image` work on
batches as they are.

## When to leave it
When elements have different shapes before the map and cannot be batched.

## References
- https://www.tensorflow.org/guide/data_performance#vectorizing_mapping
"""

# A call of a small function costs 20 to 60 µs on ordinary machines and up to 0.15 ms on slow ones (measured).
CALL_COSTS_MS: Final = 0.15
LEAST_ELEMENTS: Final = 8
BEST_LEFT: Final = 0.08
WORST_LEFT: Final = 0.4


@rule(
    PAGE,
    knob="batch first",
    relieves=Bound.INPUT,
    symptoms=(
        ALL_CPUS_BUSY,
        GPU_NO_FASTER,
    ),
    edit_lines=2,
    needs=("HostFacts.cpu_budget", "TfDataFacts.elements_per_batch", "TfStage.ms_per_element", "TfStage.python"),
)
def RULE(case: Case) -> Found | None:
    look = tf_look(case)
    stage = None if look is None else slowest(look)
    if look is None or stage is None or stage.op not in ("Map", "ParallelMap") or stage.python is not False:
        return None
    elements = look.data.elements_per_batch
    # One call reads one file: a function that takes a file name cannot take a batch of names.
    if stage.opens_files or stage.ms_per_element is None or elements is None or elements < LEAST_ELEMENTS:
        return None
    if stage.ms_per_element > CALL_COSTS_MS or not _batched_later(look.data, stage):
        return None
    # What is left of a call's time is the work itself, which cannot be seen apart.
    best, worst = (cheaper(look, stage, left) for left in (BEST_LEFT, WORST_LEFT))
    name, work = function_name(stage), stage_work(look, stage)
    return Found(
        title=f"Batch first, then map {place(stage)} over whole batches",
        says=(
            f"{place(stage)} takes {ms(stage.ms_per_element)} per element, most of it the call itself, and is called "
            f"for {count(elements, 'element')} per batch: {ms(work.busy_ms)} against {ms(look.plan.step_ms)} for the "
            "step."
        ),
        numbers=look.numbers
        | {
            "us_per_element": stage.ms_per_element * 1000,
            "elements_per_batch": float(elements),
            "map_ms": work.busy_ms,
        },
        before=f"dataset = dataset.map({name}).batch({elements}){comment(stage)}",
        after=f"dataset = dataset.batch({elements}).map({name}){comment(stage)}",
        gain=look.supply.gain(best, f"one call per batch instead of {number(elements)}", worst=worst),
        alters=(Alters.CODE,),
    )


def _batched_later(data: TfDataFacts, stage: TfStage) -> bool:
    return any(one.op in ("Batch", "ParallelBatch") for one in data.stages[data.stages.index(stage) :])
