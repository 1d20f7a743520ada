"""More workers than CPUs, and it shows: they wait for a CPU, and so does the training process."""

import math
from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.loader import best_workers, loader_look, supplied, with_workers
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import loader_edit
from feedwatch.advise.symptoms import ALL_CPUS_BUSY, MORE_WORKERS_NO_HELP
from feedwatch.model.verdict import Bound
from feedwatch.words import count, percent

PAGE = """
## What it sees
More workers (times the ranks on this machine) than CPUs this process may use, and workers that are ready to run but
wait for a core.

## Why it costs
A core can run one worker at a time. The others wait, take the core away from the training process that feeds the
device, hold memory, and make every epoch start more slowly. `os.cpu_count()` shows the machine, not the share of it
that a container, a job scheduler or the other ranks leave to this process.

## Fix
Set `num_workers` to the CPU budget. The number of batches per second stays the same; cores and memory become free. No
gain is predicted: how much the training process wins back differs too much between runs.

## When to leave it
When the workers mostly wait for storage or network: the rule then stays silent by itself.

## References
- https://github.com/Lightning-AI/pytorch-lightning/issues/15572
- https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files
"""

# Workers that wait a fifth of their busy time for a CPU are too many for the CPUs.
CORE_WAIT_SHARE: Final = 0.2
# Fewer workers are no loss where batches are mostly ready.
MOSTLY_READY: Final = 0.5


@rule(
    PAGE,
    knob="workers",
    relieves=Bound.INPUT,
    symptoms=(
        ALL_CPUS_BUSY,
        MORE_WORKERS_NO_HELP,
    ),
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "LoaderFacts.core_wait_share", "LoaderFacts.load_ms", "LoaderFacts.ready_share"),
)
def RULE(case: Case) -> Found | None:
    look = loader_look(case)
    if look is None or look.loader.core_wait_share is None:
        return None
    now, budget = look.loader.num_workers, look.plan.cpus
    if now <= budget or look.loader.core_wait_share < CORE_WAIT_SHARE:
        return None
    fewer = best_workers(look, 1, max(1, math.floor(budget + 1e-6)))
    if fewer is None or look.loader.ready_share is None or look.loader.ready_share < MOSTLY_READY:
        return None
    plan = with_workers(look, fewer)
    ranks = case.facts.run.local_ranks
    sharing = f" (shared by {count(ranks, 'rank')})" if ranks > 1 else ""
    before, after = loader_edit(look.loader, {"num_workers": fewer})
    return Found(
        title=f"Use fewer workers: num_workers={fewer}",
        says=(
            f"{count(now, 'worker')} for {count(budget, 'CPU')}{sharing}: ready workers spend "
            f"{percent(look.loader.core_wait_share)} of their busy time waiting for a CPU, which they also take from "
            f"the training process. {count(fewer, 'worker')} make as many batches."
        ),
        numbers=look.numbers | {"workers_advised": float(fewer), "core_wait_share": look.loader.core_wait_share},
        before=before,
        after=after,
        gain=look.supply.gain(plan, supplied(fewer, plan)),
        alters=(Alters.RANDOMNESS,) if look.loader.random_items else (),
    )
