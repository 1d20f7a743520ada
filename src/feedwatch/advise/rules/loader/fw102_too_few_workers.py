"""The workers together supply less than the step could take, and more of them would help."""

from feedwatch.advise.case import Case
from feedwatch.advise.questions.loader import (
    advised_workers,
    indexes_memory,
    loader_look,
    may_have_workers,
    supplied,
    with_workers,
    workers_keep_up,
)
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import loader_edit
from feedwatch.advise.symptoms import GPU_NO_FASTER, SWINGING_GPU
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms

PAGE = """
## What it sees
DataLoader workers that together supply fewer batches than the step could take, while CPUs are left unused.

## Why it costs
With `n` workers a batch arrives every load time / n. When that is longer than the rest of the step, the step waits
for the difference, every time.

## Fix
Raise `num_workers` to the load time of one batch divided by the rest of the step, rounded up. The advised number
respects the CPUs this process may use: affinity, cgroup quota and the other ranks on the machine.

## When to leave it
When memory is short: every worker holds its own copy of the Python objects of the data set and `prefetch_factor`
batches.

## References
- https://pytorch.org/docs/stable/data.html#multi-process-data-loading
- https://github.com/Lightning-AI/pytorch-lightning/issues/18723
"""


@rule(
    PAGE,
    knob="workers",
    relieves=Bound.INPUT,
    symptoms=(
        SWINGING_GPU,
        GPU_NO_FASTER,
    ),
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "LoaderFacts.load_ms"),
)
def RULE(case: Case) -> Found | None:
    look = loader_look(case)
    if look is None or look.loader.num_workers < 1 or indexes_memory(look.loader) or not may_have_workers(look):
        return None
    now = look.loader.num_workers
    if workers_keep_up(look):
        return None
    workers = advised_workers(look, now + 1)
    if workers is None:
        return None
    plan = with_workers(look, workers)
    before, after = loader_edit(look.loader, {"num_workers": workers})
    return Found(
        title=f"Use more workers: num_workers={workers}",
        says=(
            f"One worker needs {ms(look.load_ms)} for a batch, {ms(look.items.wait_ms)} of it waiting for storage or "
            f"network; {count(now, 'worker')} make one every {ms(look.load_ms / now)}, and the step takes "
            f"{ms(look.plan.step_ms)}. {count(look.plan.cpus, 'CPU')} carry {count(workers, 'worker')}."
        ),
        numbers=look.numbers | {"workers_advised": float(workers)},
        before=before,
        after=after,
        gain=look.supply.gain(plan, supplied(workers, plan)),
        alters=(Alters.RANDOMNESS,) if look.loader.random_items else (),
    )
