"""Items are so cheap that handing batches over costs more than making them."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.loader import best_workers, loader_look, with_workers
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import loader_edit
from feedwatch.advise.symptoms import MORE_WORKERS_NO_HELP, ONE_BUSY_CPU
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms

PAGE = """
## What it sees
DataLoader workers whose batches take less time to make than to hand over to the training process.

## Why it costs
A batch from a worker is written into shared memory, its file descriptors are sent over a socket, and the training
process maps it, tensor by tensor. On some machines that takes milliseconds. Items that are slices, numbers or short
lines are made faster than that.

## Fix
Set `num_workers=0` (and drop `persistent_workers` and `prefetch_factor`, which need workers), or as few workers as
the page says.

## When to leave it
When the items will become dearer soon (augmentation that is still to come), or when the step is so long that batches
are ready anyway.

## References
- https://pytorch.org/docs/stable/data.html#single-and-multi-process-data-loading
- https://pytorch.org/docs/stable/multiprocessing.html#sharing-strategies
"""

# The run takes so much longer than the model gives it.
MOST_UNSEEN: Final = 1.4


@rule(
    PAGE,
    knob="workers",
    relieves=Bound.INPUT,
    symptoms=(
        MORE_WORKERS_NO_HELP,
        ONE_BUSY_CPU,
    ),
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "LoaderFacts.load_ms"),
)
def RULE(case: Case) -> Found | None:
    look = loader_look(case)
    if look is None or look.loader.num_workers < 1:
        return None
    # What the model does not see of a run may be why it needs its workers.
    if look.supply.error > MOST_UNSEEN:
        return None
    now, loader = look.loader.num_workers, look.loader
    # In the training process a batch is made from its items alone: nothing is pickled, sent or mapped.
    fewer = best_workers(look, 0, now - 1)
    if fewer is None or look.items.wait_ms > look.items.cpu_ms:
        return None
    plan = with_workers(look, fewer)
    changes: dict[str, object] = {"num_workers": fewer}
    if fewer == 0:
        changes |= {"persistent_workers": False, "prefetch_factor": None}
    before, after = loader_edit(loader, changes)
    shown = "without workers" if fewer == 0 else f"with {count(fewer, 'worker')}"
    return Found(
        title=f"Load {shown}: num_workers={fewer}",
        says=(
            f"Making a batch takes {ms(look.items.cpu_ms)} of computing; taking it over from a worker costs the "
            f"training process {ms(look.plan.handover_ms)}, and the worker as much again. {shown.capitalize()} the "
            f"same batches arrive sooner; the step takes {ms(look.plan.step_ms)}."
        ),
        numbers=look.numbers | {"workers_advised": float(fewer), "handover_ms": look.plan.handover_ms},
        before=before,
        after=after,
        gain=look.supply.gain(
            plan, f"{ms(look.items.cpu_ms)} of making a batch instead of {ms(look.plan.handover_ms)} of taking it over"
        ),
        alters=(Alters.RANDOMNESS,) if loader.random_items else (),
    )
