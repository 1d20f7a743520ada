"""What rules ask about a torch DataLoader: the run as it is, and the same run with other workers."""

import math
from dataclasses import dataclass, replace
from typing import Final

from feedwatch.advise.as_is import SPINNING, handed_over, loading_of, mostly_waits
from feedwatch.advise.case import Case
from feedwatch.advise.plan import UNEVEN, Plan, Work
from feedwatch.advise.supply import Supply, supply
from feedwatch.model.pipeline import LoaderFacts
from feedwatch.model.steps import INPUT_WAIT
from feedwatch.words import count, ms

# Workers that wait may outnumber the CPUs, but not without end: each is a process with memory of its own.
MOST_WORKERS: Final = 16
MOST_WORKERS_PER_CPU: Final = 4
# Of batches: more than this are there when they are asked for.
MOSTLY_READY: Final = 0.5
# Workers that load for more of the time than this have none left for more batches.
BUSY_WORKERS: Final = 0.9
# Taking a slice of memory takes microseconds.
LONGEST_SLICE_MS: Final = 0.05
# A setting this close to the best one is as good; the smaller one wins.
AS_GOOD: Final = 1.03
# Half of what is free stays free for everything else.
MOST_OF_MEMORY: Final = 0.5
DEFAULT_PREFETCH: Final = 2
SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 -- a name in a sentence


@dataclass(frozen=True, slots=True)
class LoaderLook:
    """A run that reads from a torch DataLoader, explained by the model."""

    case: Case
    loader: LoaderFacts
    supply: Supply
    load_ms: float  # one batch on one worker, as measured
    items: Work  # the same without the time in which it waited for a CPU

    @property
    def plan(self) -> Plan:
        return self.supply.plan

    @property
    def rest_ms(self) -> float:
        return self.plan.step_ms

    @property
    def numbers(self) -> dict[str, float]:
        account = self.supply.account
        return {
            "load_ms": self.load_ms,
            "load_cpu_ms": self.items.cpu_ms,
            "step_ms": self.plan.step_ms,
            "wait_ms": account.ms(INPUT_WAIT) or 0.0,
            "batch_ms": account.batch_ms,
            "cpu_budget": self.plan.cpus,
            "workers": float(self.loader.num_workers),
        }


def loader_look(case: Case) -> LoaderLook | None:
    loader, known = case.facts.pipeline.loader, supply(case)
    if loader is None or known is None or not known.usable:
        return None
    load_ms = loader.load_ms if loader.num_workers else known.account.ms(INPUT_WAIT)
    if load_ms is None or load_ms <= 0:
        return None
    return LoaderLook(case, loader, known, load_ms, loading_of(case.facts, known.account, loader, load_ms))


def indexes_memory(loader: LoaderFacts) -> bool:
    """Items, or with automatic batching off whole batches, are slices of what the data set holds in memory. An item
    that takes longer is worked on.
    """
    if loader.batch_size is None:
        return loader.in_memory is True or bool(loader.dataset_bytes)
    return loader.in_memory is True and (loader.item_ms or 0.0) <= LONGEST_SLICE_MS


def workers_keep_up(look: LoaderLook) -> bool:
    """Batches are mostly there, and workers have time left: what stalls remain are rare and long. Where workers are
    busy all the time, those that began together end together: most batches are there, and training waits for the rest.
    """
    ready, made_ms = look.loader.ready_share, look.plan.threads_ms(look.plan.last_threads)
    mostly = ready is not None and ready > MOSTLY_READY
    return mostly and made_ms < BUSY_WORKERS * look.supply.account.batch_ms


def with_workers(look: LoaderLook, workers: int, items: Work | None = None) -> Plan:
    """The same training, loaded by so many workers that stay; 0: by the training thread itself."""
    work = items or look.items
    # Starting workers anew for every epoch is another knob (FW104): no number of workers takes credit for it.
    restarts = look.loader.num_workers > 0 and not look.loader.persistent_workers
    epoch_batches = look.supply.account.epoch_batches
    first_ms = 0.0 if not epoch_batches or not workers else work.busy_ms / epoch_batches
    rest = replace(
        look.plan,
        loading=(replace(work, lanes=float(max(1, workers))),),
        handover_ms=0.0,
        handover_cpu_ms=0.0,
        start_ms=look.plan.start_ms if restarts else first_ms,
        cold=0.0,
    )
    return handed_over(rest, look.case.facts) if workers else replace(rest, ahead=False)


def most_workers(look: LoaderLook) -> int:
    """Never more than the CPUs carry where items compute; many more where they wait."""
    if look.items.cpu_ms <= 0:
        carried = MOST_WORKERS
    else:
        carried = math.floor(min(MOST_WORKERS, look.plan.cpus * look.items.own_ms / look.items.cpu_ms) + 1e-6)
    shards = look.loader.dataset_shards if look.loader.iterable else None
    most = MOST_WORKERS
    if look.loader.worker_rss_mb is None:  # nobody knows what memory a worker takes: not too many at once
        most = min(most, max(1, math.floor(MOST_WORKERS_PER_CPU * look.plan.cpus + 1e-6)))
    return max(1, min(most, carried, shards or most))


def best_workers(look: LoaderLook, least: int, most: int, items: Work | None = None) -> int | None:
    """The smallest number in this range that is as good as the best one, even where batches take unequal times."""
    times = {
        workers: with_workers(look, workers, items).batch_ms(evenness=UNEVEN) for workers in range(least, most + 1)
    }
    if not times:
        return None
    best_ms = min(times.values())
    return min(workers for workers, batch_ms in times.items() if batch_ms <= AS_GOOD * best_ms)


def room_for_workers(case: Case, loader: LoaderFacts) -> tuple[int | None, str | None]:
    """How many workers the memory holds (None: it is not the limit, or unknown), and which memory is short."""
    batch, host = case.facts.batch, case.facts.host
    depth = loader.prefetch_factor or DEFAULT_PREFETCH
    limits: list[tuple[int, str]] = []
    if batch is not None and host.shm_free_gb is not None and batch.size_bytes > 0:
        # Every worker holds its queue and the batch in the making; the loop holds one more.
        fit = MOST_OF_MEMORY * host.shm_free_gb * 1e9 / batch.size_bytes - 1
        limits.append((max(0, math.floor(fit / (depth + 1))), SHARED_MEMORY))
    if loader.worker_rss_mb is not None and host.ram_available_gb is not None and loader.worker_rss_mb > 0:
        more = math.floor(MOST_OF_MEMORY * host.ram_available_gb * 1e3 / loader.worker_rss_mb)
        limits.append((loader.num_workers + more, "memory"))
    elif loader.dataset_bytes and host.ram_available_gb is not None and loader.start_method in ("spawn", "forkserver"):
        limits.append((math.floor(MOST_OF_MEMORY * host.ram_available_gb * 1e9 / loader.dataset_bytes), "memory"))
    if not limits:
        return None, None
    return min(limits)


def may_have_workers(look: LoaderLook) -> bool:
    """Several workers on an iterable data set that does not divide itself yield every item several times."""
    loader = look.loader
    if loader.device_tensors is True:
        return False
    return not loader.iterable or loader.shards_itself is True or loader.workers_repeat_items is False


def advised_workers(look: LoaderLook, least: int) -> int | None:
    """More workers than `least - 1`, as far as the CPUs, the memory and the data set carry them. Tensors of a device
    cannot come from workers.
    """
    if look.loader.device_tensors is True:
        return None
    most = most_workers(look)
    room, _ = room_for_workers(look.case, look.loader)
    if room is not None:
        most = min(most, room)
    if not may_have_workers(look):
        most = min(most, 1)
    return best_workers(look, least, most) if most >= least else None


def threads_in_the_way(look: LoaderLook, workers: int) -> bool:
    """Math threads and workers that compute would share too few CPUs. An operation on several threads ends when its
    slowest thread does, and one of them would always wait for a CPU.
    """
    threads = look.loader.math_threads
    if threads is None or threads < 2 or look.case.facts.run.device_kind != "cpu":
        return False
    together = look.plan.step_cpu_ms >= SPINNING * look.plan.step_ms
    return together and not mostly_waits(look.items) and threads + workers > look.plan.cpus


def supplied(workers: int, plan: Plan) -> str:
    """2 workers make a batch every 20 ms; the step takes 11 ms."""
    made = "makes" if workers == 1 else "make"
    return (
        f"{count(workers, 'worker')} {made} a batch every {ms(plan.threads_ms(plan.last_threads))} and handing it over "
        f"takes {ms(plan.handover_ms)}; the step takes {ms(plan.step_ms)}"
    )
