"""One worker does much more than its share, and the step waits for that one."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.questions.loader import loader_look
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.symptoms import IRREGULAR_STEPS, MORE_WORKERS_NO_HELP, ONE_BUSY_CPU
from feedwatch.model.pipeline import WorkerTime
from feedwatch.model.steps import INPUT_WAIT
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms, percent, times

PAGE = """
## What it sees
One DataLoader worker whose share of the work is half as much again as the average, in a run that waits.

## Why it costs
Batches are taken from the workers in turn. The loader as a whole is as fast as its busiest worker; the others stand
still.

## Fix
For an iterable data set, deal out files or shards by size, not in blocks. For a map-style data set, use a sampler
that mixes cheap and dear items.

## When to leave it
When the shards are fixed by the storage and one of them must be read by one worker.

## References
- https://pytorch.org/docs/stable/data.html#torch.utils.data.get_worker_info
"""

# Workers with fair shares differ by a few percent. A worker with half as much work again has a larger shard.
UNEVEN_RATIO: Final = 1.5
BUSY_SHARE: Final = 0.5
# One or two batches per worker say nothing about shares.
LEAST_BATCHES: Final = 4


@rule(
    PAGE,
    knob="shards",
    relieves=Bound.INPUT,
    symptoms=(
        IRREGULAR_STEPS,
        MORE_WORKERS_NO_HELP,
        ONE_BUSY_CPU,
    ),
    edit_lines=6,
    needs=("HostFacts.cpu_budget", "LoaderFacts.load_ms", "WorkerTime.fetch_ms"),
)
def RULE(case: Case) -> Found | None:
    look = loader_look(case)
    if look is None or len(look.loader.workers) < 2:
        return None
    work = {worker.id: _work_ms(worker) for worker in look.loader.workers}
    known = {key: value for key, value in work.items() if value is not None}
    batches = sum(worker.batches for worker in look.loader.workers)
    if len(known) < len(work) or batches < LEAST_BATCHES * len(work):
        return None
    mean_ms = sum(known.values()) / len(known)
    busiest = max(known, key=lambda key: known[key])
    ratio = known[busiest] / mean_ms if mean_ms > 0 else 0.0
    # A worker that idles most of the time holds nobody up, however uneven the shares are.
    if ratio < UNEVEN_RATIO or known[busiest] < BUSY_SHARE * case.counts.wall_s * 1000:
        return None
    wait_ms = look.supply.account.ms(INPUT_WAIT) or 0.0
    return Found(
        title=f"Spread the work evenly: worker {busiest} does most of it",
        says=(
            f"Worker {busiest} does {times(ratio)} the average work of {count(len(known), 'worker')}: "
            f"{ms(known[busiest])} against {ms(mean_ms)} so far. The others idle while the step waits for it; more "
            "workers will not help before the work is spread."
        ),
        numbers=look.numbers | {"busiest_worker": float(busiest), "ratio": ratio},
        before="files = all_files  # every worker takes what it finds",
        after="""def my_share(files):
    # Largest first and dealt out like cards: every worker gets files of every size.
    worker = torch.utils.data.get_worker_info()
    ordered = sorted(files, key=os.path.getsize, reverse=True)
    return ordered if worker is None else ordered[worker.id :: worker.num_workers]""",
        gain=removed(
            look.supply.account,
            wait_ms * (1 - 0.9 / ratio),
            wait_ms * (1 - 1 / ratio) * 0.7,
            f"spread evenly, the busiest worker has {percent(1 / ratio)} of the work it has now",
        ),
        alters=(Alters.ORDER, Alters.CODE),
    )


def _work_ms(worker: WorkerTime) -> float | None:
    if worker.fetch_ms is None:
        return None
    return worker.batches * (worker.fetch_ms + (worker.collate_ms or 0.0))
