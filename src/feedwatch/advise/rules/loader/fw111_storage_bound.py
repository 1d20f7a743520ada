"""The workers wait for storage, and there are as many as there can be."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.loader import loader_look, most_workers
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.symptoms import MORE_WORKERS_NO_HELP, NOTHING_BUSY
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms, percent

PAGE = """
## What it sees
Workers that spend most of their busy time blocked, not computing, while the disk is busy or there are as many workers
as CPUs.

## Why it costs
Storage answers so many requests per second and no more. Small random reads over a network file system are the slowest
of all. More workers queue more requests; the answers come no faster.

## Fix
Copy the data to a local disk or into memory before training; pack small files into large ones that are read from
front to back (tar shards, TFRecord, LMDB, Parquet); store them smaller; cache decoded items that fit in memory.

## When to leave it
When the first epoch is slow and the operating system's cache makes the later ones fast.

## References
- https://pytorch.org/docs/stable/data.html#dataset-types
- https://github.com/webdataset/webdataset
"""

MOSTLY_BLOCKED: Final = 0.5
DISK_WAIT_SHARE: Final = 0.1
BEST_LEFT: Final = 0.05
WORST_LEFT: Final = 0.5


@rule(
    PAGE,
    knob="storage",
    relieves=Bound.INPUT,
    symptoms=(
        NOTHING_BUSY,
        MORE_WORKERS_NO_HELP,
    ),
    edit_lines=20,
    needs=("HostFacts.cpu_budget", "LoaderFacts.blocked_share", "LoaderFacts.cpu_share", "LoaderFacts.load_ms"),
)
def RULE(case: Case) -> Found | None:
    look = loader_look(case)
    if look is None or look.loader.num_workers < 1 or look.loader.blocked_share is None:
        return None
    now, plan = look.loader.num_workers, look.plan
    if look.items.wait_ms < MOSTLY_BLOCKED * look.items.own_ms:
        return None
    # A few workers that wait are too few workers. Storage is the limit where they are many, or where the disk is busy.
    disk = case.facts.host.iowait_share
    disk_busy = disk is not None and disk >= DISK_WAIT_SHARE
    if (now < most_workers(look) and not disk_busy) or look.load_ms / now < plan.step_ms:
        return None
    best, worst = (plan.with_less(wait=left) for left in (BEST_LEFT, WORST_LEFT))
    proof = f"; the CPUs idle {percent(disk)} of the time for the disk" if disk is not None and disk_busy else ""
    data = look.loader.dataset_name or "the data set"
    return Found(
        title="Read from nearer or in larger pieces: the workers wait for storage",
        says=(
            f"{count(now, 'worker')} spend {percent(look.loader.blocked_share)} of the {ms(look.load_ms)} per batch "
            f"waiting for storage or network, not computing{proof}: read less, or from nearer."
        ),
        numbers=look.numbers | {"blocked_share": look.loader.blocked_share},
        before=f"# {data} reads every item from storage, every epoch",
        after="""# Once, before training: the same data on a local disk.
import shutil

shutil.copytree(data_dir, local_dir, dirs_exist_ok=True)""",
        gain=look.supply.gain(
            best,
            f"an estimate: with {percent(1 - WORST_LEFT)} to {percent(1 - BEST_LEFT)} of the waiting gone",
            worst=worst,
        ),
        alters=(Alters.CODE,),
    )
