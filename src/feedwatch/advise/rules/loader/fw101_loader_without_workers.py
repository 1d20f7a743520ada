"""The loader makes a batch only while training waits for it."""

from feedwatch.advise.case import Case
from feedwatch.advise.questions.loader import (
    LoaderLook,
    advised_workers,
    indexes_memory,
    loader_look,
    supplied,
    threads_in_the_way,
    with_workers,
)
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import loader_edit
from feedwatch.advise.symptoms import GPU_NO_FASTER, ONE_BUSY_CPU, SUM_OF_BOTH, SWINGING_GPU
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms

PAGE = """
## What it sees
A DataLoader with `num_workers=0` in a run that waits for its input.

## Why it costs
Without workers the batch is read, decoded and collated in the training process, between two steps. Loading and
computing take turns, so a step costs the sum of both instead of the longer of the two, and the device idles while the
batch is made.

## Fix
Set `num_workers` to the time one batch takes to load divided by the rest of the step, rounded up. What workers compute
has to fit the CPUs this process may use (affinity and cgroup quota, divided by the ranks on the machine); waiting for a
drive or a network needs none, so there may be more workers than CPUs. Add `persistent_workers=True`, so that the
workers are not started again for every epoch.

## When to leave it
When the data set is a tensor in memory: workers then cost more than they save (see FW106). When an item cannot be
made in another process, for example because it holds an open handle that does not survive a fork. When a debugger has
to step into the data set.

## References
- https://pytorch.org/docs/stable/data.html#multi-process-data-loading
- https://lightning.ai/docs/pytorch/stable/advanced/speed.html
"""


@rule(
    PAGE,
    knob="workers",
    relieves=Bound.INPUT,
    symptoms=(
        SWINGING_GPU,
        ONE_BUSY_CPU,
        GPU_NO_FASTER,
        SUM_OF_BOTH,
    ),
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "PipelineFacts.loader"),
)
def RULE(case: Case) -> Found | None:
    look = loader_look(case)
    # The data set slices tensors in memory: sending a batch between processes costs more than making it.
    if look is None or look.loader.num_workers != 0 or indexes_memory(look.loader):
        return None
    workers = advised_workers(look, 1)
    if workers is None or threads_in_the_way(look, workers):
        return None  # FW116 speaks of both
    plan = with_workers(look, workers)
    before, after = loader_edit(look.loader, {"num_workers": workers, "persistent_workers": True})
    return Found(
        title=f"Load in the background: num_workers={workers}",
        says=(
            f"Loading a batch takes {ms(look.load_ms)} and happens in the training process, between steps; the step "
            f"itself takes {ms(look.plan.step_ms)}. {_why(look)} With {count(look.plan.cpus, 'CPU')} for this process, "
            f"num_workers={workers} loads ahead while the step runs."
        ),
        numbers=look.numbers | {"workers_advised": float(workers), "handover_ms": plan.handover_ms},
        before=before,
        after=after,
        gain=look.supply.gain(plan, supplied(workers, plan)),
        alters=(Alters.RANDOMNESS,) if look.loader.random_items else (),
    )


def _why(look: LoaderLook) -> str:
    if look.items.wait_ms > look.items.cpu_ms:
        return f"{ms(look.items.wait_ms)} of the loading is waiting, which needs no CPU."
    return f"{ms(look.items.cpu_ms)} of the loading is computing."
