"""Whether there is memory for a variant, asked before it is opened."""

from dataclasses import dataclass
from typing import Final

from feedwatch.words import size

# The rest stays free for everything else: the model, the page cache, other people.
MOST_OF_MEMORY: Final = 0.5


@dataclass(frozen=True, slots=True)
class Needs:
    workers: int
    ahead: int  # batches that each of them may have ready
    batch_bytes: int | None = None
    worker_bytes: float | None = None  # memory that a worker shares with nobody, as far as it is known


@dataclass(frozen=True, slots=True)
class Free:
    ram_bytes: float | None = None  # of the machine, or below the limit of its cgroup
    shm_bytes: float | None = None


def shortage(needs: Needs, free: Free) -> str | None:
    """Why it could exhaust the machine. None: it could not, as far as is known."""
    if needs.workers == 0:
        return None
    # Every worker holds its queue and the batch in the making; the loop holds one more.
    queued = (needs.workers * (needs.ahead + 1) + 1) * (needs.batch_bytes or 0)
    if free.shm_bytes is not None and queued > MOST_OF_MEMORY * free.shm_bytes:
        return f"its queue would take {size(queued)} of the {size(free.shm_bytes)} that are free in /dev/shm"
    wanted = queued + needs.workers * (needs.worker_bytes or 0.0)
    if free.ram_bytes is not None and wanted > MOST_OF_MEMORY * free.ram_bytes:
        return f"it could take {size(wanted)} of the {size(free.ram_bytes)} of memory that are free"
    return None
