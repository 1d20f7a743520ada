"""tf.data already uses every CPU there is, for work that cannot be kept."""

from typing import Final

from feedwatch.advise.as_is import lanes_of
from feedwatch.advise.case import Case
from feedwatch.advise.questions.tf_data import cache_change, cheaper, stage_work, tf_look
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import comment, function_name, place
from feedwatch.advise.symptoms import ALL_CPUS_BUSY, MORE_WORKERS_NO_HELP
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms, number, percent

PAGE = """
## What it sees
An input-bound tf.data pipeline whose parallelism is chosen by AUTOTUNE, in a process that uses its whole CPU budget.

## Why it costs
AUTOTUNE can share out CPUs; it cannot make more of them. When all are busy, only less work per batch helps.

## Fix
Store the data in the form that training needs (smaller images, decoded records), cache what is the same in every
epoch, move augmentation into the model as Keras layers that run on the device, or give the process more CPUs.

## When to leave it
When the CPUs are busy with somebody else's work: come back when they are free.

## References
- https://www.tensorflow.org/guide/data_performance
- https://keras.io/guides/preprocessing_layers/
"""

SATURATED: Final = 0.75
LARGER_PART: Final = 0.4
BEST_LEFT: Final = 0.1
WORST_LEFT: Final = 0.5


@rule(
    PAGE,
    knob="work",
    relieves=Bound.INPUT,
    symptoms=(
        ALL_CPUS_BUSY,
        MORE_WORKERS_NO_HELP,
    ),
    edit_lines=20,
    needs=("HostFacts.cpu_budget", "TfStage.ms_per_batch", "TfStage.parallelism"),
)
def RULE(case: Case) -> Found | None:
    look = tf_look(case)
    if look is None or cache_change(look) is not None:
        return None
    timed = [stage for stage in look.data.stages if stage.ms_per_batch]
    stage = max(timed, key=lambda one: stage_work(look, one).cpu_ms, default=None)
    if stage is None or stage.parallelism != -1:
        return None
    work, plan = stage_work(look, stage), look.plan
    if plan.cpu_ms / plan.cpus < SATURATED * look.supply.account.batch_ms or work.cpu_ms < LARGER_PART * plan.cpu_ms:
        return None
    best, worst = (cheaper(look, stage, left) for left in (BEST_LEFT, WORST_LEFT))
    name = function_name(stage)
    return Found(
        title=f"Make {place(stage)} cheaper: all CPUs are busy with it",
        says=(
            f"{place(stage)} needs {ms(work.cpu_ms)} of CPU time per batch and already runs {number(lanes_of(stage))} "
            f"calls at once; {count(plan.cpus, 'CPU')} are all there are. More parallelism will not help: make the "
            "work of a batch smaller."
        ),
        numbers=look.numbers | {"stage_cpu_ms": work.cpu_ms, "parallel_calls": lanes_of(stage)},
        before=f"dataset = dataset.map({name}, num_parallel_calls=tf.data.AUTOTUNE){comment(stage)}",
        after=f"""# Once, before training: store what {name} makes, and read that instead. Random steps stay behind it.
dataset.map({name}, num_parallel_calls=tf.data.AUTOTUNE).save("prepared")
dataset = tf.data.Dataset.load("prepared")""",
        gain=look.supply.gain(
            best,
            f"an estimate: with {percent(1 - WORST_LEFT)} to {percent(1 - BEST_LEFT)} of its {ms(work.cpu_ms)} per "
            "batch done offline or in the model",
            worst=worst,
        ),
        alters=(Alters.ORDER, Alters.CODE),
    )
