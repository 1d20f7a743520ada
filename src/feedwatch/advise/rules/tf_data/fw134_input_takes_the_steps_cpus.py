"""Training hardly waits, but the input computes on the CPUs that the step needs."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.cached import cached
from feedwatch.advise.questions.tf_data import (
    cache_change,
    started_slowly,
    surely_computes,
    takes_the_steps_cpus,
    tf_look,
)
from feedwatch.advise.rule import Found, rule
from feedwatch.advise.snippets import place
from feedwatch.advise.symptoms import ALL_CPUS_BUSY, LONG_EPOCHS
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms

PAGE = """
## What it sees
Training on a CPU whose step becomes longer because the input pipeline computes beside it, although the step hardly
ever waits for a batch.

## Why it costs
Pipeline and step share the CPUs. A pipeline that works ahead hides its waiting, not its CPU time: every millisecond
it computes is one that the step cannot.

## Fix
Do the work once: `.cache()` behind the last stage that is the same in every epoch. Where that is not possible, store
the data in the form that training needs.

## When to leave it
When the data do not fit into memory, or when training moves to a device of its own: then the CPUs are free for the
input.

## References
- https://www.tensorflow.org/guide/data_performance#caching
"""

# The process' CPU time is divided between step and loading by what each took on the wall. That is not exact: less than
# this much loading, in CPUs, may be the step's own.
LARGE_SHARE: Final = 0.3


@rule(
    PAGE,
    knob="cache",
    relieves=Bound.INPUT,
    symptoms=(
        ALL_CPUS_BUSY,
        LONG_EPOCHS,
    ),
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "HostFacts.ram_available_gb", "TfStage.ms_per_batch"),
)
def RULE(case: Case) -> Found | None:
    look = tf_look(case)
    change = None if look is None else cache_change(look)
    if look is None or change is None or started_slowly(look) or not takes_the_steps_cpus(look):
        return None
    if look.plan.load_cpu_ms < LARGE_SHARE * look.supply.account.batch_ms or not surely_computes(look):
        return None
    return cached(
        look,
        change,
        title=f"Give the CPUs back to the step: .cache() behind {place(change.last)}",
        says=(
            f"Training hardly waits for input, but the pipeline computes {ms(look.plan.load_cpu_ms)} per batch on the "
            f"{count(look.plan.cpus, 'CPU')} that the step runs on; alone the step would take {ms(look.plan.step_ms)}. "
            f"{ms(change.same_ms)} per batch are the same work in every epoch."
        ),
    )
