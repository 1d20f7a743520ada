"""A grain pipeline works on the training thread."""

import math
from dataclasses import replace

from feedwatch.advise.as_is import handed_over
from feedwatch.advise.case import Case
from feedwatch.advise.questions.loader import supplied
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.supply import supply
from feedwatch.advise.symptoms import ONE_BUSY_CPU, SUM_OF_BOTH
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms

PAGE = """
## What it sees
A grain data set without worker processes in a run that waits for it.

## Why it costs
Without `mp_prefetch` every transformation runs in the training process, under the interpreter's lock, between two
steps.

## Fix
`dataset.to_iter_dataset().mp_prefetch(grain.MultiprocessingOptions(num_workers=...))` as the last call.

## When to leave it
When the transformations cannot be sent to another process.

## References
- https://google-grain.readthedocs.io/
"""


@rule(
    PAGE,
    knob="workers",
    relieves=Bound.INPUT,
    symptoms=(
        ONE_BUSY_CPU,
        SUM_OF_BOTH,
    ),
    edit_lines=2,
    needs=("HostFacts.cpu_budget", "PipelineFacts.stream"),
)
def RULE(case: Case) -> Found | None:
    stream, known = case.facts.pipeline.stream, supply(case)
    if stream is None or stream.library != "grain" or known is None or not known.usable:
        return None
    if (stream.workers or 0) > 0 or not known.plan.loading:
        return None
    work, budget = known.plan.loading[-1], known.plan.cpus
    workers = max(1, math.floor(budget + 1e-6))
    plan = handed_over(replace(known.plan, loading=(replace(work, lanes=float(workers), lock_ms=0.0),)), case.facts)
    return Found(
        title=f"Let grain prefetch in {count(workers, 'process', 'processes')}",
        says=(
            f"The grain pipeline makes a batch in {ms(work.busy_ms)} in the training process; the step takes "
            f"{ms(known.plan.step_ms)}."
        ),
        numbers={"load_ms": work.busy_ms, "step_ms": known.plan.step_ms, "workers_advised": float(workers)},
        before="dataset = dataset.batch(batch_size)",
        after=(
            "dataset = dataset.to_iter_dataset().mp_prefetch(\n"
            f"    grain.MultiprocessingOptions(num_workers={workers})\n)"
        ),
        gain=known.gain(plan, supplied(workers, plan)),
        alters=(Alters.ORDER,),
    )
