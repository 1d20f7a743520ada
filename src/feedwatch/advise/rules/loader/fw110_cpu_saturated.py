"""Loading already takes every CPU there is."""

from dataclasses import replace
from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.plan import Plan
from feedwatch.advise.questions.loader import (
    LoaderLook,
    indexes_memory,
    loader_look,
    most_workers,
    workers_keep_up,
)
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.symptoms import ALL_CPUS_BUSY, MORE_WORKERS_NO_HELP
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms, percent

PAGE = """
## What it sees
An input-bound run whose workers use the whole CPU budget, or wait for a core.

## Why it costs
Workers are processes, and processes need cores. When the cores are used up, another worker only takes time away from
the others and from the training process.

## Fix
Make a batch cheaper: store images at the size that is used, decode with a faster library, move augmentation to the
device, do what is the same in every epoch once and offline. Or give the process more CPUs.

## When to leave it
When the CPUs are busy with somebody else's work: come back when they are free.

## References
- https://pytorch.org/vision/stable/transforms.html#performance-considerations
- https://lightning.ai/docs/pytorch/stable/advanced/speed.html
"""

COMPUTES: Final = 0.7
LARGEST: Final = 0.8
# Done once and offline nearly all of the work is saved; cheaper work saves two thirds.
BEST_LEFT: Final = 0.05
WORST_LEFT: Final = 0.35


@rule(
    PAGE,
    knob="work",
    relieves=Bound.INPUT,
    symptoms=(
        ALL_CPUS_BUSY,
        MORE_WORKERS_NO_HELP,
    ),
    edit_lines=20,
    needs=("HostFacts.cpu_budget", "LoaderFacts.load_ms", "LoaderFacts.ready_share"),
)
def RULE(case: Case) -> Found | None:
    look = loader_look(case)
    if look is None or look.loader.num_workers < 1 or indexes_memory(look.loader):
        return None
    now, plan = look.loader.num_workers, look.plan
    # Work that computes, by as many workers as the CPUs carry: fewer CPUs could not do it, more workers neither.
    if look.items.cpu_ms < COMPUTES * look.items.own_ms or now < most_workers(look):
        return None
    cpu_bound = plan.cpu_ms / plan.cpus >= max(LARGEST * plan.threads_ms(plan.last_threads), plan.step_ms)
    if not cpu_bound or look.loader.ready_share is None:
        return None
    waits = (look.supply.account.stall_ratio or 0.0) >= THRESHOLDS.bounds_share
    if workers_keep_up(look) and not waits:
        return None
    best, worst = (_cheaper(look, left) for left in (BEST_LEFT, WORST_LEFT))
    data = look.loader.dataset_name or "the data set"
    return Found(
        title="Make loading cheaper: all CPUs are busy with it",
        says=(
            f"A batch costs {ms(look.items.cpu_ms)} of computing on one worker, and {count(plan.cpus, 'CPU')} are all "
            f"this process may use. More workers will not help: make the work of a batch smaller."
        ),
        numbers=look.numbers,
        before=f"# every epoch repeats {ms(look.items.cpu_ms)} of decoding and converting per batch of {data}",
        after="""# Once, before training: store what every epoch needs (decoded, at the size that is used).
# Random augmentation stays in __getitem__, behind the reading of what is stored here.
def prepare(source, path):
    torch.save([source[index] for index in range(len(source))], path)""",
        gain=look.supply.gain(
            best,
            f"an estimate: with {percent(1 - WORST_LEFT)} to {percent(1 - BEST_LEFT)} of the computing done once and "
            "offline",
            worst=worst,
        ),
        alters=(Alters.CODE,),
    )


def _cheaper(look: LoaderLook, left: float) -> Plan:
    return look.plan.with_loading(lambda work: replace(work, cpu_ms=work.cpu_ms - (1 - left) * look.items.cpu_ms))
