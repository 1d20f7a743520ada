"""What rules ask about batches that Python makes one after the other: PyDatasets and generators."""

import math
from dataclasses import dataclass, replace
from typing import Final

from feedwatch.advise.as_is import MB_MS
from feedwatch.advise.case import Case
from feedwatch.advise.plan import UNEVEN, Plan, Work
from feedwatch.advise.supply import Supply, supply
from feedwatch.model.steps import INPUT_WAIT
from feedwatch.words import count, ms

# Threads that wait may outnumber the CPUs.
MOST_THREADS: Final = 8
AS_GOOD: Final = 1.02  # one more of them is cheap
# A batch from another process is pickled, sent through a pipe in small pieces and unpickled. Two thirds of that are the
# training process', under its lock: 5 to 7 ms per megabyte, where a megabyte between DataLoaders took 1 (measured).
PIPE_PASSES: Final = 9.0
PIPE_MS: Final = 0.6
# When an epoch ends Keras waits a tenth of a second for the queue of its pool to stay empty, and the next one starts a
# pool anew (PyDatasetEnqueuer.stop).
POOL_STOPS_MS: Final = 100.0
# A pool of threads takes turns at the interpreter's lock with the training loop: each batch costs some of that.
TURN_MS: Final = 0.4
# Time on the wall that is not computing may be waiting, which threads do side by side, or a thread that others keep
# from the lock, the memory or a CPU. Work of which more than this is computing does not surely wait in between.
COMPUTES: Final = 0.3


@dataclass(frozen=True, slots=True)
class PythonLook:
    case: Case
    supply: Supply
    work: Work  # one batch

    @property
    def plan(self) -> Plan:
        return self.supply.plan

    @property
    def numbers(self) -> dict[str, float]:
        account = self.supply.account
        return {
            "load_ms": self.work.busy_ms,
            "load_cpu_ms": self.work.cpu_ms,
            "step_ms": self.plan.step_ms,
            "wait_ms": account.ms(INPUT_WAIT) or 0.0,
            "batch_ms": account.batch_ms,
            "cpu_budget": self.plan.cpus,
        }


def python_look(case: Case) -> PythonLook | None:
    known = supply(case)
    if known is None or not known.usable or not known.plan.loading:
        return None
    work = max(known.plan.loading, key=lambda one: one.busy_ms)
    return None if work.busy_ms <= 0 else PythonLook(case, known, work)


def batch_bytes(case: Case) -> float | None:
    """Of one batch, as Python makes it."""
    data, run = case.facts.pipeline.pydataset, case.run
    if data is not None and data.batch_bytes is not None:
        return float(data.batch_bytes)
    if data is not None and data.sample_bytes is not None and run is not None and run.samples and run.batches:
        return data.sample_bytes * run.samples / run.batches
    return None if case.facts.batch is None else float(case.facts.batch.size_bytes)


def with_pool(look: PythonLook, workers: int, *, processes: bool) -> Plan:
    """The same batches, made by so many threads or processes."""
    megabytes = (batch_bytes(look.case) or 0.0) / 1e6
    mb_ms = look.case.facts.host.handover_ms_per_mb or MB_MS
    pipe_ms = PIPE_MS + PIPE_PASSES * mb_ms * megabytes if processes else 0.0
    work = replace(
        look.work,
        lanes=float(workers),
        cpu_ms=look.work.cpu_ms + pipe_ms / PIPE_PASSES,
        lock_ms=0.0 if processes else look.work.lock_ms,
        threads=0,
    )
    taking_ms = 2 * pipe_ms / PIPE_PASSES if processes else TURN_MS
    return replace(
        look.plan,
        loading=(work,),
        ahead=True,
        handover_ms=taking_ms,
        handover_cpu_ms=taking_ms,
        aside_ms=look.plan.aside_ms + _pool_ends_ms(look),
    )


def _pool_ends_ms(look: PythonLook) -> float:
    """Per batch."""
    epoch_batches = look.supply.account.epoch_batches
    return 0.0 if not epoch_batches else POOL_STOPS_MS / epoch_batches


def with_pool_at_best(look: PythonLook, workers: int, *, processes: bool) -> Plan:
    """Of the CPU time only the process' is known, not a Python function's: what is counted as its computing may have
    been the step's.
    """
    plan = with_pool(look, workers, processes=processes)
    if processes:
        return plan
    return plan.with_loading(
        lambda work: replace(
            work, cpu_ms=work.cpu_ms / 2, wait_ms=work.wait_ms + work.cpu_ms / 2, lock_ms=work.lock_ms / 2
        )
    )


def with_pool_at_worst(look: PythonLook, workers: int, *, processes: bool) -> Plan:
    """What looked like waiting was one thread in the way of another: more threads take turns at that."""
    work = look.work
    if processes or work.cpu_ms < COMPUTES * work.own_ms:
        return with_pool(look, workers, processes=processes)
    return replace(
        look.plan,
        handover_ms=look.plan.handover_ms + TURN_MS,
        aside_ms=look.plan.aside_ms + _pool_ends_ms(look),
    )


def advised_pool(look: PythonLook) -> tuple[int, bool]:
    """(workers, processes?): the smallest pool that is as good as the best one, even where batches take unequal times;
    threads before processes.
    """
    carried = MOST_THREADS
    if look.work.cpu_ms > 0:
        carried = math.floor(min(MOST_THREADS, look.plan.cpus * look.work.own_ms / look.work.cpu_ms) + 1e-6)
    options = [(workers, False) for workers in range(2, max(2, carried) + 1)]
    options += [(workers, True) for workers in range(1, max(1, math.floor(look.plan.cpus + 1e-6)) + 1)]
    times = {option: with_pool(look, option[0], processes=option[1]).batch_ms(evenness=UNEVEN) for option in options}
    best_ms = min(times.values())
    as_good = [option for option, batch_ms in times.items() if batch_ms <= AS_GOOD * best_ms]
    return min(as_good, key=lambda option: (option[1], option[0]))


def pooled(workers: int, *, processes: bool) -> str:
    return count(workers, "process", "processes") if processes else count(workers, "thread")


def made_by(look: PythonLook, workers: int, plan: Plan, *, processes: bool) -> str:
    return (
        f"{pooled(workers, processes=processes)} make a batch every {ms(plan.threads_ms(plan.last_threads))}; the step "
        f"takes {ms(look.plan.step_ms)} of the {ms(look.supply.account.batch_ms)} that a batch takes now"
    )
