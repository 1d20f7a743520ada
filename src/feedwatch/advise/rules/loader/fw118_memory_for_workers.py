"""The workers that would help do not fit into the memory."""

from feedwatch.advise.case import Case
from feedwatch.advise.questions.loader import (
    SHARED_MEMORY,
    best_workers,
    indexes_memory,
    loader_look,
    may_have_workers,
    most_workers,
    room_for_workers,
    supplied,
    with_workers,
)
from feedwatch.advise.rule import Found, rule
from feedwatch.advise.symptoms import MORE_WORKERS_NO_HELP
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound
from feedwatch.words import count, size

PAGE = """
## What it sees
A run that more DataLoader workers would make faster, on a machine or in a container whose shared memory or memory
limit does not hold them.

## Why it costs
Workers hand batches over in `/dev/shm`; a container often has 64 MB of it. A worker that finds none left ends with
"no space left on device" or a bus error. Under spawn every worker has its own copy of the data set, and under fork a
copy grows page by page; a cgroup's limit ends the whole run.

## Fix
Give the container more shared memory (`--shm-size`, or a larger `emptyDir` with `medium: Memory`), or a higher memory
limit. Smaller batches in the queue (`prefetch_factor=1`) need less of it.

## When to leave it
When the limit is set by somebody else and the run is fast enough.

## References
- https://docs.docker.com/reference/cli/docker/container/run/#shm-size
- https://pytorch.org/docs/stable/multiprocessing.html#sharing-strategies
"""


@rule(
    PAGE,
    knob="memory",
    relieves=Bound.UNKNOWN,
    symptoms=(MORE_WORKERS_NO_HELP,),
    edit_lines=2,
    needs=("HostFacts.cpu_budget", "PipelineFacts.loader"),
)
def RULE(case: Case) -> Found | None:
    look = loader_look(case)
    if look is None or indexes_memory(look.loader) or not may_have_workers(look):
        return None
    room, which = room_for_workers(case, look.loader)
    now, most = look.loader.num_workers, most_workers(look)
    if room is None or which is None or room >= most:
        return None
    wanted = best_workers(look, now + 1, most) if most > now else None
    if wanted is None or wanted <= room:
        return None
    batch, host = case.facts.batch, case.facts.host
    each = 0.0 if batch is None else float(batch.size_bytes)
    free = (host.shm_free_gb if which == SHARED_MEMORY else host.ram_available_gb) or 0.0
    plan = with_workers(look, wanted)
    gained = look.supply.gain(plan, supplied(wanted, plan))
    if gained.low < THRESHOLDS.least_gain:
        return None
    return Found(
        title=f"Make room for workers: {which} holds {count(room, 'worker')}",
        says=(
            f"{count(wanted, 'worker')} would help, but {which} has {size(free * 1e9)} free and a batch takes "
            f"{size(each)}: more than {count(room, 'worker')} with their queues would end the run with an error."
        ),
        numbers=look.numbers | {"workers_wanted": float(wanted), "workers_that_fit": float(room), "free_gb": free},
        before=f"# {which}: {size(free * 1e9)} free",
        after=(
            "# docker run --shm-size=8g ...   or, inside the program, files instead of shared memory:\n"
            'torch.multiprocessing.set_sharing_strategy("file_system")'
            if which == SHARED_MEMORY
            else "# give the container more memory, or let the data set open its files in the worker"
        ),
    )
