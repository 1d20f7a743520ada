"""Math threads of the step and workers want more CPUs than there are."""

import math
from dataclasses import replace
from typing import Final, NamedTuple

from feedwatch.advise.as_is import SPINNING
from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.plan import UNEVEN, Plan
from feedwatch.advise.questions.loader import (
    AS_GOOD,
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
from feedwatch.advise.symptoms import ALL_CPUS_BUSY, MORE_WORKERS_NO_HELP
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms

PAGE = """
## What it sees
Training on a CPU with several math threads. Either DataLoader workers run beside them, more of both than CPUs, and the
training thread waits for a CPU. Or there are no workers yet, loading computes, and workers would meet those threads.

## Why it costs
Math threads wait for each other at the end of every operation. When one of them has no CPU because a worker runs
there, all of them wait, and they spin while they do.

## Fix
`torch.set_num_threads(n)` (or `OMP_NUM_THREADS` in the environment) before training, with as many threads as workers
leave CPUs, and one at least. Without workers both change together: workers alone would slow the step down. Libraries
inside workers (OpenCV, OpenMP) have their own number of threads: set it to one there.

## When to leave it
When the model is so large that several threads shorten the step by more than the workers take. Sums are added in
another order with another number of threads, so results differ in their last digits.

## References
- https://pytorch.org/docs/stable/notes/cpu_threading_torchscript_inference.html
- https://pytorch.org/docs/stable/generated/torch.set_num_threads.html
"""

LEAST_REMOVED: Final = 0.25
# By so much does another thread usually speed up the step at most: on two CPUs steps on one thread took 0.8 to 1.7
# times as long as on two, six of seven models no more than 1.5 times (from runs with either, not from single steps).
WORTH_OF_A_THREAD: Final = 0.5


@rule(
    PAGE,
    knob="threads",
    relieves=Bound.INPUT,
    symptoms=(
        ALL_CPUS_BUSY,
        MORE_WORKERS_NO_HELP,
    ),
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "LoaderFacts.math_threads"),
)
def RULE(case: Case) -> Found | None:
    look = loader_look(case)
    if look is None or case.facts.run.device_kind != "cpu" or look.loader.math_threads is None:
        return None
    if look.loader.num_workers == 0:
        return _workers_beside_fewer_threads(look)
    threads, workers, delay = look.loader.math_threads, look.loader.num_workers, case.facts.host.training_delay
    if threads < 2 or workers < 1 or delay is None or threads + workers <= look.plan.cpus:
        return None
    account, left = look.supply.account, _threads_left(look, workers)
    delayed_ms = delay * account.batch_ms
    # One thread computes as long as several spin and wait for each other; how much longer, only a trial can tell.
    if (
        delayed_ms < THRESHOLDS.worth_saying_share * account.batch_ms
        or look.plan.step_cpu_ms < look.plan.step_ms * SPINNING
    ):
        return None
    return Found(
        title=f"Compute with fewer threads beside the workers: torch.set_num_threads({left})",
        says=(
            f"{count(threads, 'math thread')} and {count(workers, 'worker')} share {count(look.plan.cpus, 'CPU')}: the "
            f"training thread is ready and waits for a CPU for {ms(delayed_ms)} of every {ms(account.batch_ms)}."
        ),
        numbers=look.numbers | {"math_threads": float(threads), "delayed_ms": delayed_ms},
        before=f"# torch.get_num_threads() is {threads}",
        after=f"torch.set_num_threads({left})  # before training",
        gain=removed(
            account,
            delayed_ms,
            LEAST_REMOVED * delayed_ms,
            f"up to {ms(delayed_ms)} per batch in which the training thread waits for a CPU",
        ),
        alters=(Alters.PRECISION,),
    )


def _threads_left(look: LoaderLook, workers: int) -> int:
    """A CPU for each worker, the others for the step."""
    return max(1, math.floor(look.plan.cpus + 1e-6) - workers)


class _Share(NamedTuple):
    """So many CPUs for workers, the others for math threads."""

    loading: int
    computing: int
    best: Plan
    worst: Plan


def _shared(look: LoaderLook, workers: int, threads_now: int) -> _Share:
    threads = _threads_left(look, workers)
    plan, step_ms = with_workers(look, workers), look.plan.step_ms
    # How much of the step's CPU time is spinning, nobody sees: at best all that more threads burn.
    slower = (1 + WORTH_OF_A_THREAD * (threads_now - 1)) / (1 + WORTH_OF_A_THREAD * (threads - 1))
    slow_ms = min(step_ms * max(1.0, slower), max(step_ms, look.plan.step_cpu_ms))
    best, worst = (replace(plan, step_ms=each_ms, step_cpu_ms=each_ms * threads) for each_ms in (step_ms, slow_ms))
    return _Share(workers, threads, best, worst)


def _workers_beside_fewer_threads(look: LoaderLook) -> Found | None:
    most, now = advised_workers(look, 1), look.loader.math_threads
    if most is None or now is None or indexes_memory(look.loader) or not threads_in_the_way(look, most):
        return None
    shares = [_shared(look, workers, now) for workers in range(1, most + 1)]
    times_ms = [share.worst.batch_ms(evenness=UNEVEN) for share in shares]
    share = next(one for one, took in zip(shares, times_ms, strict=True) if took <= AS_GOOD * min(times_ms))
    workers, threads = share.loading, share.computing
    before, after = loader_edit(look.loader, {"num_workers": workers, "persistent_workers": True})
    return Found(
        title=f"Load in the background beside fewer threads: num_workers={workers}, torch.set_num_threads({threads})",
        says=(
            f"Loading a batch takes {ms(look.load_ms)} and happens in the training process, between steps of "
            f"{ms(look.plan.step_ms)}. {count(now, 'math thread')} and {count(workers, 'worker')} would share "
            f"{count(look.plan.cpus, 'CPU')} and wait for each other: workers alone could slow the step down."
        ),
        numbers=look.numbers | {"workers_advised": float(workers), "math_threads": float(now)},
        before=before,
        after=f"torch.set_num_threads({threads})  # before training\n{after}",
        gain=look.supply.gain(
            share.best,
            f"{supplied(workers, share.best)}, with fewer threads {ms(share.worst.step_ms)} at most",
            worst=share.worst,
        ),
        alters=(Alters.PRECISION, *((Alters.RANDOMNESS,) if look.loader.random_items else ())),
    )
