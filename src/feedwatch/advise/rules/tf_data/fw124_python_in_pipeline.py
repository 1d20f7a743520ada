"""Python code inside the pipeline holds the interpreter's lock."""

from typing import Final

from feedwatch.advise.as_is import is_python
from feedwatch.advise.case import Case
from feedwatch.advise.questions.tf_data import (
    cheaper,
    parallel_calls,
    stage_work,
    surely_computes,
    takes_the_steps_cpus,
    tf_look,
)
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import comment, function_name, place
from feedwatch.advise.symptoms import GPU_NO_FASTER, MORE_WORKERS_NO_HELP, ONE_BUSY_CPU
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms, percent

PAGE = """
## What it sees
A `py_function`, `numpy_function` or `from_generator` that is the slowest stage of the pipeline, in a process that
computes.

## Why it costs
Every call has to enter the Python interpreter, and its lock lets one thread in at a time. `num_parallel_calls` starts
more calls; they take turns. The training loop needs the same lock.

## Fix
Write the function with TensorFlow operations (`tf.io`, `tf.image`, `tf.strings`), which run in parallel without the
interpreter. Where that is not possible, use a `keras.utils.PyDataset` with `workers` and `use_multiprocessing=True`,
which runs it in processes.

## When to leave it
When the Python code only waits (for a file, a server): the lock is free meanwhile and parallel calls help.

## References
- https://www.tensorflow.org/api_docs/python/tf/py_function
- https://keras.io/api/utils/python_utils/#pydataset-class
"""

COMPUTES: Final = 0.5
LARGER_PART: Final = 0.3
# Operations do the same in compiled code. How much faster that is differs: three to one for loops over values, none for
# code that is numpy already.
BEST_LEFT: Final = 0.35
WORST_LEFT: Final = 0.9


@rule(
    PAGE,
    knob="python",
    relieves=Bound.INPUT,
    symptoms=(
        ONE_BUSY_CPU,
        MORE_WORKERS_NO_HELP,
        GPU_NO_FASTER,
    ),
    edit_lines=15,
    needs=("HostFacts.cpu_budget", "TfStage.ms_per_batch"),
)
def RULE(case: Case) -> Found | None:
    look = tf_look(case)
    if look is None or look.case.facts.pipeline.kind != "tf.data":
        return None
    python = [stage for stage in look.data.stages if is_python(stage) and stage.ms_per_batch]
    stage = max(python, key=lambda one: one.ms_per_batch or 0.0, default=None)
    if stage is None:
        return None
    work = stage_work(look, stage)
    # Python that only waits releases the lock: parallel calls are the change then.
    if work.cpu_ms < COMPUTES * work.own_ms or work.busy_ms < LARGER_PART * look.supply.account.batch_ms:
        return None
    if takes_the_steps_cpus(look) and not surely_computes(look):
        return None
    calls = parallel_calls(look)
    best, worst = (cheaper(look, stage, left, float(calls), python=False) for left in (BEST_LEFT, WORST_LEFT))
    generated = stage.op == "FromGenerator"
    name = function_name(stage)
    return Found(
        title=f"Write {place(stage)} in TensorFlow operations",
        says=(
            f"{place(stage)} runs Python for {ms(work.busy_ms)} per batch. Python code runs one call at a time, "
            f"however many are allowed, and takes turns with the training loop; the step takes {ms(look.plan.step_ms)}."
        ),
        numbers=look.numbers | {"python_ms": work.busy_ms, "parallel_calls": float(calls)},
        before=(
            "dataset = tf.data.Dataset.from_generator(generator, output_signature=signature)"
            if generated
            else f"dataset = dataset.map({name})  # py_function or numpy_function inside{comment(stage)}"
        ),
        after=(
            "dataset = tf.data.Dataset.range(items).map(make_item, num_parallel_calls=tf.data.AUTOTUNE)"
            "  # make_item(index): the generator's body in tf operations"
            if generated
            else f"dataset = dataset.map({name}, num_parallel_calls=tf.data.AUTOTUNE)  # with tf operations only"
        ),
        gain=look.supply.gain(
            best,
            f"an estimate: without the lock {count(calls, 'call')} run at once, and operations take "
            f"{percent(BEST_LEFT)} to {percent(WORST_LEFT)} of the Python code's time",
            worst=worst,
        ),
        alters=(Alters.CODE,),
    )
