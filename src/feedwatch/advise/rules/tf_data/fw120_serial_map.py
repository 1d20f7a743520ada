"""The slowest stage is a map that handles one element at a time."""

from typing import Final

from feedwatch.advise.as_is import is_python, lanes_of
from feedwatch.advise.case import Case
from feedwatch.advise.plan import Work
from feedwatch.advise.questions.tf_data import parallel, parallel_calls, slowest, stage_work, tf_look
from feedwatch.advise.rule import Found, rule
from feedwatch.advise.snippets import comment, function_name, place
from feedwatch.advise.symptoms import GPU_NO_FASTER, ONE_BUSY_CPU
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms

PAGE = """
## What it sees
A `map` without `num_parallel_calls` that is the slowest stage of a tf.data pipeline, in a run that waits.

## Why it costs
A serial map handles one element after the other on one CPU, however many there are, and only while the stage behind
it asks.

## Fix
Pass `num_parallel_calls=tf.data.AUTOTUNE`. tf.data then runs as many calls at once as the CPUs carry, keeps the
order, and works ahead.

## When to leave it
When the function keeps a state that must see the elements one by one.

## References
- https://www.tensorflow.org/guide/data_performance#parallelizing_data_transformation
- https://www.tensorflow.org/api_docs/python/tf/data/Dataset#map
"""


CLEAR_GAIN: Final = 1.1


@rule(
    PAGE,
    knob="parallel calls",
    relieves=Bound.INPUT,
    symptoms=(
        ONE_BUSY_CPU,
        GPU_NO_FASTER,
    ),
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "PipelineFacts.tf_data"),
)
def RULE(case: Case) -> Found | None:
    look = tf_look(case)
    stage = None if look is None else slowest(look)
    if look is None or stage is None or stage.op != "Map" or stage.parallelism is not None:
        return None
    # tf.data's optimiser may have made it parallel. What runs counts, not what is written.
    calls = parallel_calls(look)
    if stage.tunable or lanes_of(stage) > 1 or calls < 2:
        return None
    plan, work = parallel(look, stage, calls), stage_work(look, stage)
    because = f"{count(calls, 'parallel call')} take {ms(work.busy_ms / calls)} per batch instead of {ms(work.busy_ms)}"
    gained = look.supply.gain(plan, because)
    # Python that computes takes turns at the interpreter's lock, and several calls of it may be slower than one
    # (measured: 0.69). How much of it waits is an estimate, so only a clear gain is one.
    if is_python(stage) and gained.low < CLEAR_GAIN:
        return None
    name = function_name(stage)
    return Found(
        title=f"Run {place(stage)} in parallel: num_parallel_calls=tf.data.AUTOTUNE",
        says=(
            f"{place(stage)} takes {ms(work.busy_ms)} per batch, one element at a time"
            f"{_kind(work)}; the step takes {ms(look.plan.step_ms)}. {count(look.plan.cpus, 'CPU')} for this process "
            f"could handle {count(calls, 'element')} at once."
        ),
        numbers=look.numbers | {"map_ms": work.busy_ms, "map_cpu_ms": work.cpu_ms, "parallel_calls": float(calls)},
        before=f"dataset = dataset.map({name}){comment(stage)}",
        after=f"dataset = dataset.map({name}, num_parallel_calls=tf.data.AUTOTUNE){comment(stage)}",
        gain=gained,
    )


def _kind(work: Work) -> str:
    return f", {ms(work.wait_ms)} of it waiting" if work.wait_ms > work.cpu_ms else ""
