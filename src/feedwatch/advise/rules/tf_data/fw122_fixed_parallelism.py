"""The slowest stage runs in parallel, but with fewer calls than the CPUs can carry."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.tf_data import parallel, parallel_calls, slowest, stage_work, tf_look
from feedwatch.advise.rule import Found, rule
from feedwatch.advise.snippets import comment, function_name, place
from feedwatch.advise.symptoms import GPU_NO_FASTER, NOTHING_BUSY
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms

PAGE = """
## What it sees
A parallel stage with a fixed `num_parallel_calls` below the CPU budget that is the slowest of the pipeline.

## Why it costs
A number that fitted another machine, or another model, leaves CPUs idle while the step waits for the batch.

## Fix
Use `tf.data.AUTOTUNE`, or the number of CPUs this process may use.

## When to leave it
When every call needs so much memory that more of them at once do not fit.

## References
- https://www.tensorflow.org/guide/data_performance#parallelizing_data_transformation
"""

CALLS: Final = {"ParallelMap": "map", "MapAndBatch": "map", "ParallelInterleave": "interleave"}


@rule(
    PAGE,
    knob="parallel calls",
    relieves=Bound.INPUT,
    symptoms=(
        NOTHING_BUSY,
        GPU_NO_FASTER,
    ),
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "TfStage.ms_per_batch", "TfStage.parallelism"),
)
def RULE(case: Case) -> Found | None:
    look = tf_look(case)
    stage = None if look is None else slowest(look)
    if look is None or stage is None or stage.parallelism is None or stage.parallelism < 1 or stage.op not in CALLS:
        return None
    calls = parallel_calls(look)
    if stage.parallelism >= calls:
        return None
    plan, work = parallel(look, stage, calls), stage_work(look, stage)
    call, name = CALLS[stage.op], function_name(stage)
    return Found(
        title=f"Let tf.data choose: num_parallel_calls=tf.data.AUTOTUNE instead of {stage.parallelism}",
        says=(
            f"{place(stage)} is fixed to {count(stage.parallelism, 'parallel call')} and takes "
            f"{ms(work.busy_ms / work.lanes)} per batch; the step takes {ms(look.plan.step_ms)}, and "
            f"{count(calls, 'CPU')} are there."
        ),
        numbers=look.numbers
        | {
            "parallel_calls": float(stage.parallelism),
            "parallel_calls_possible": float(calls),
            "stage_ms": work.busy_ms,
        },
        before=f"dataset = dataset.{call}({name}, num_parallel_calls={stage.parallelism}){comment(stage)}",
        after=f"dataset = dataset.{call}({name}, num_parallel_calls=tf.data.AUTOTUNE){comment(stage)}",
        gain=look.supply.gain(plan, f"{count(calls, 'parallel call')} take {ms(work.busy_ms / calls)} per batch"),
    )
