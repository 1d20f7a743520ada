"""FW122: the slowest stage runs in parallel, but with fewer calls than the CPUs can carry."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.cpu import cpu_saturated
from feedwatch.advise.questions.tf_data import (
    TfLook,
    changed_gain,
    lane_ms,
    parallel_lanes,
    python_is_limit,
    slowest_stage,
    starved_tf_data,
)
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import comment, function_name, place
from feedwatch.advise.symptoms import GPU_NO_FASTER, NOTHING_BUSY
from feedwatch.model.pipeline import TfStage
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, ms

CALLS: Final = {"ParallelMap": "map", "MapAndBatch": "map", "ParallelInterleave": "interleave"}


def check(case: Case) -> Evidence | None:
    look = starved_tf_data(case)
    stage = None if look is None else _fixed(case, look)
    lanes = None if look is None else parallel_lanes(case, look.data)
    if look is None or stage is None or stage.parallelism is None or lanes is None:
        return None
    # When nobody knows whether CPUs are free, more parallel calls may be the wrong advice.
    if stage.parallelism >= lanes or cpu_saturated(case) is not False:
        return None
    return Evidence(
        says=(
            f"{place(stage)} is fixed to {count(stage.parallelism, 'parallel call')} and takes "
            f"{ms(lane_ms(stage))} per "
            f"batch; the rest of the step takes {ms(look.times.rest_ms)}, and {count(lanes, 'CPU')} are there."
        ),
        numbers={
            "parallel_calls": float(stage.parallelism),
            "parallel_calls_possible": float(lanes),
            "stage_ms": stage.ms_per_batch or 0.0,
            "rest_ms": look.times.rest_ms,
            "wait_ms": look.times.wait_ms,
        },
        blanks={
            "call": CALLS.get(stage.op, "map"),
            "function": function_name(stage),
            "calls": str(stage.parallelism),
            "comment": comment(stage),
            "place": place(stage),
        },
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    look = starved_tf_data(case)
    stage = None if look is None else _fixed(case, look)
    if look is None or stage is None:
        return None
    lanes, now_ms = evidence.numbers["parallel_calls_possible"], evidence.numbers["stage_ms"]
    because = f"{count(lanes, 'parallel call')} take {ms(now_ms / lanes)} per batch instead of {ms(lane_ms(stage))}"
    return changed_gain(case, look, stage, lanes=lanes, left=(1.0, 1.0), because=because)


def _fixed(case: Case, look: TfLook) -> TfStage | None:
    stage = slowest_stage(look.data)
    if stage is None or stage.parallelism is None or stage.parallelism < 1 or stage.op not in CALLS:
        return None
    return None if python_is_limit(case, stage) is not False else stage


RULE: Final = Rule(
    code="FW122",
    name="fixed-parallelism",
    title="Let tf.data choose: num_parallel_calls=tf.data.AUTOTUNE instead of $calls",
    before="dataset = dataset.$call($function, num_parallel_calls=$calls)$comment",
    after="dataset = dataset.$call($function, num_parallel_calls=tf.data.AUTOTUNE)$comment",
    page=Page(
        sees=(
            "A parallel stage with a fixed `num_parallel_calls` below the CPU budget that is the "
            "slowest of the pipeline."
        ),
        why=(
            "A number that fitted another machine, or another model, leaves CPUs idle while the step "
            "waits for the batch."
        ),
        fix="Use `tf.data.AUTOTUNE`, or the number of CPUs this process may use.",
        leave="When every call needs so much memory that more of them at once do not fit.",
        references=("https://www.tensorflow.org/guide/data_performance#parallelizing_data_transformation",),
    ),
    symptoms=(NOTHING_BUSY, GPU_NO_FASTER),
    relieves=Bound.INPUT,
    edit_lines=1,
    needs=(
        "HostFacts.cpu_budget",
        "HostFacts.cpu_used",
        "TfStage.ms_per_batch",
        "TfStage.parallelism",
        "TfStage.python",
    ),
    check=check,
    predict=predict,
)
