"""Batches come from an object that cannot be looked into, on the training thread."""

import math
from dataclasses import replace

from feedwatch.advise.as_is import handed_over
from feedwatch.advise.case import Case
from feedwatch.advise.questions.loader import supplied
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.supply import supply
from feedwatch.advise.symptoms import ONE_BUSY_CPU, SUM_OF_BOTH
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.steps import INPUT_WAIT
from feedwatch.model.verdict import Bound
from feedwatch.words import ms

PAGE = """
## What it sees
A training loop that waits for batches of an object that is no DataLoader: an iterator of one's own, a wrapper, a
library whose inside is not known.

## Why it costs
Whatever the object does to make a batch, it does between two steps, on the training thread, unless it has threads or
workers of its own. What it does cannot be seen, only how long it takes.

## Fix
Make the batches in a `Dataset` whose items are whole batches and let a `DataLoader` with workers call it, or give the
library's own loader more workers.

## When to leave it
When batches depend on one another, or come from a live source in order. When the object has settings for loading
ahead: use those first.

## References
- https://pytorch.org/docs/stable/data.html#loading-batched-and-non-batched-data
"""


@rule(
    PAGE,
    knob="workers",
    relieves=Bound.INPUT,
    symptoms=(
        SUM_OF_BOTH,
        ONE_BUSY_CPU,
    ),
    edit_lines=10,
    needs=("HostFacts.cpu_budget",),
)
def RULE(case: Case) -> Found | None:
    known, pipeline = supply(case), case.facts.pipeline
    if known is None or not known.usable or pipeline.loader is not None or pipeline.tf_data is not None:
        return None
    if pipeline.kind not in ("unknown", "iterable") or case.facts.run.backend != "torch":
        return None
    if pipeline.stream is not None:
        return None  # a library that loads ahead by itself: FW142 speaks of it
    wait_ms = known.account.ms(INPUT_WAIT) or 0.0
    if (known.account.stall_ratio or 0.0) < THRESHOLDS.bounds_share or not known.plan.loading:
        return None
    work, budget = known.plan.loading[-1], known.plan.cpus
    workers = max(1, min(math.floor(budget + 1e-6), math.ceil(work.busy_ms / max(known.plan.step_ms, 1e-3))))
    plan = handed_over(replace(known.plan, loading=(replace(work, lanes=float(workers), lock_ms=0.0),)), case.facts)
    name = pipeline.opaque or "the iterator"
    return Found(
        title=f"Put the loading into a Dataset with workers: num_workers={workers}",
        says=(
            f"feedwatch cannot look into what gives the batches ({name}). Every batch takes {ms(wait_ms)} of the "
            f"training process, between the steps of {ms(known.plan.step_ms)}; nothing is loaded ahead."
        ),
        numbers={
            "wait_ms": wait_ms,
            "step_ms": known.plan.step_ms,
            "batch_ms": known.account.batch_ms,
            "cpu_budget": budget,
            "workers_advised": float(workers),
        },
        before="trainer.fit(model, batches)  # an iterator of your own",
        after=f"""class Batches(torch.utils.data.Dataset):
    def __len__(self):
        return steps  # batches per epoch

    def __getitem__(self, index):
        return make_batch(index)  # what the iterator gives out as batch number `index`


loader = DataLoader(Batches(), batch_size=None, num_workers={workers}, persistent_workers=True)""",
        gain=known.gain(plan, supplied(workers, plan)),
        alters=(Alters.CODE,),
    )
