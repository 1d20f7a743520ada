"""FW120: the slowest stage is a map that handles one element at a time."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.tf_data import (
    TfLook,
    changed_gain,
    lanes,
    parallel_lanes,
    python_is_limit,
    slowest_stage,
    starved_tf_data,
)
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import comment, function_name, place
from feedwatch.advise.step_model import cpu_budget
from feedwatch.advise.symptoms import GPU_NO_FASTER, ONE_BUSY_CPU
from feedwatch.model.pipeline import TfStage
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, ms


def check(case: Case) -> Evidence | None:
    look, budget = starved_tf_data(case), cpu_budget(case)
    stage = None if look is None else _serial_map(case, look)
    calls = None if look is None else parallel_lanes(case, look.data)
    if look is None or stage is None or budget is None or calls is None or calls < 2:
        return None
    now_ms = stage.ms_per_batch or 0.0
    return Evidence(
        says=(
            f"{place(stage)} takes {ms(now_ms)} per batch, one element at a time; the rest of the step takes "
            f"{ms(look.times.rest_ms)}. {count(budget, 'CPU')} for this process could handle "
            f"{count(calls, 'element')} at once."
        ),
        numbers={
            "map_ms": now_ms,
            "rest_ms": look.times.rest_ms,
            "wait_ms": look.times.wait_ms,
            "cpu_budget": budget,
            "parallel_calls": float(calls),
        },
        blanks={"function": function_name(stage), "comment": comment(stage), "place": place(stage)},
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    look = starved_tf_data(case)
    stage = None if look is None else _serial_map(case, look)
    if look is None or stage is None:
        return None
    calls = evidence.numbers["parallel_calls"]
    because = (
        f"{count(calls, 'parallel call')} take {ms((stage.ms_per_batch or 0.0) / calls)} per batch instead of "
        f"{ms(stage.ms_per_batch or 0.0)}; the rest of the step needs {ms(look.times.rest_ms)}"
    )
    return changed_gain(case, look, stage, lanes=calls, left=(1.0, 1.0), because=because)


def _serial_map(case: Case, look: TfLook) -> TfStage | None:
    stage = slowest_stage(look.data)
    if stage is None or stage.op != "Map" or stage.parallelism is not None:
        return None
    # tf.data's optimiser may have made it parallel. What runs counts, not what is written.
    if stage.tunable or lanes(stage) > 1:
        return None
    # Python that computes holds the interpreter's lock: parallel calls would take turns.
    return None if python_is_limit(case, stage) is not False else stage


RULE: Final = Rule(
    code="FW120",
    name="serial-map",
    title="Run $place in parallel: num_parallel_calls=tf.data.AUTOTUNE",
    before="dataset = dataset.map($function)$comment",
    after="dataset = dataset.map($function, num_parallel_calls=tf.data.AUTOTUNE)$comment",
    page=Page(
        sees=(
            "A `map` without `num_parallel_calls` that is the slowest stage of a tf.data pipeline, in a run that waits."
        ),
        why=(
            "A serial map handles one element after the other on one CPU, however many there are, and "
            "only while the stage behind it asks."
        ),
        fix=(
            "Pass `num_parallel_calls=tf.data.AUTOTUNE`. tf.data then runs as many calls at once as the "
            "CPUs carry, keeps the order, and works ahead."
        ),
        leave="When the function keeps a state that must see the elements one by one.",
        references=(
            "https://www.tensorflow.org/guide/data_performance#parallelizing_data_transformation",
            "https://www.tensorflow.org/api_docs/python/tf/data/Dataset#map",
        ),
    ),
    symptoms=(ONE_BUSY_CPU, GPU_NO_FASTER),
    relieves=Bound.INPUT,
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "TfStage.ms_per_batch", "TfStage.python"),
    check=check,
    predict=predict,
)
