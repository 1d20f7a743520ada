"""FW125: a cheap function is called once per element; the calls cost more than the work."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.tf_data import TfLook, changed_gain, slowest_stage, starved_tf_data
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import comment, function_name, place
from feedwatch.advise.symptoms import ALL_CPUS_BUSY, GPU_NO_FASTER
from feedwatch.model.pipeline import TfStage
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, ms, number

# Calling a traced function costs 10-50 µs whatever it does (measured). Up to twice that, the call is the larger part.
CALL_COSTS_MS: Final = 0.1
# For a handful of elements the calls do not add up.
LEAST_ELEMENTS: Final = 16
# With one call per batch only the work itself is left: next to nothing, or half where an element was less cheap.
BEST_LEFT: Final = 0.02
WORST_LEFT: Final = 0.5


def check(case: Case) -> Evidence | None:
    look = starved_tf_data(case)
    stage = None if look is None else _cheap_map(look)
    if look is None or stage is None or stage.ms_per_element is None:
        return None
    elements = look.data.elements_per_batch
    if elements is None or elements < LEAST_ELEMENTS or stage.ms_per_element > CALL_COSTS_MS:
        return None
    return Evidence(
        says=(
            f"{place(stage)} takes {ms(stage.ms_per_element)} per element, most of it the "
            f"call itself, and is "
            f"called for {count(elements, 'element')} per batch: {ms(stage.ms_per_batch or 0.0)} against "
            f"{ms(look.times.rest_ms)} for the rest of the step."
        ),
        numbers={
            "us_per_element": stage.ms_per_element * 1000,
            "elements_per_batch": float(elements),
            "map_ms": stage.ms_per_batch or 0.0,
            "rest_ms": look.times.rest_ms,
            "wait_ms": look.times.wait_ms,
        },
        blanks={
            "function": function_name(stage),
            "comment": comment(stage),
            "batch_size": str(elements),
            "place": place(stage),
        },
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    look = starved_tf_data(case)
    stage = None if look is None else _cheap_map(look)
    if look is None or stage is None:
        return None
    because = f"one call per batch instead of {number(evidence.numbers['elements_per_batch'])}"
    lanes = max(1, stage.parallelism_now or 1)
    return changed_gain(case, look, stage, lanes=lanes, left=(BEST_LEFT, WORST_LEFT), because=because)


def _cheap_map(look: TfLook) -> TfStage | None:
    """The slowest stage, when it is a map in front of the batch."""
    stage = slowest_stage(look.data)
    if stage is None or stage.op not in ("Map", "ParallelMap") or stage.python is not False:
        return None
    # One call reads one file: a function that takes a file name cannot take a batch of names.
    if stage.opens_files:
        return None
    behind = look.data.stages[look.data.stages.index(stage) :]
    batched_later = any(one.op in ("Batch", "ParallelBatch") for one in behind)
    return stage if batched_later else None


RULE: Final = Rule(
    code="FW125",
    name="per-element-map",
    title="Batch first, then map whole batches with $place",
    before="dataset = dataset.map($function).batch($batch_size)$comment",
    after="dataset = dataset.batch($batch_size).map($function, num_parallel_calls=tf.data.AUTOTUNE)$comment",
    page=Page(
        sees="A cheap `map` before `batch` that is the slowest stage because it is called once per element.",
        why=(
            "Calling the function costs tens of microseconds whatever it does. For a cast or a scaling "
            "that is more than the work itself, and it is paid for every element."
        ),
        fix=(
            "Swap the two: `batch` first, then `map` over whole batches. Casts, scaling, one-hot and "
            "most of `tf.image` work on batches as they are."
        ),
        leave="When elements have different shapes before the map and cannot be batched.",
        references=("https://www.tensorflow.org/guide/data_performance#vectorizing_mapping",),
    ),
    symptoms=(ALL_CPUS_BUSY, GPU_NO_FASTER),
    relieves=Bound.INPUT,
    edit_lines=2,
    needs=("TfDataFacts.elements_per_batch", "TfStage.ms_per_batch", "TfStage.ms_per_element", "TfStage.python"),
    check=check,
    predict=predict,
)
