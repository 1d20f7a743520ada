"""Math threads of the step and workers want more CPUs than there are."""

from dataclasses import replace
from typing import Final

from feedwatch.advise.as_is import SPINNING
from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.questions.loader import (
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
`torch.set_num_threads(1)` (or `OMP_NUM_THREADS=1` in the environment) before training, so that workers and step have
a CPU each. Without workers both change together: workers alone would slow the step down. Libraries inside workers
(OpenCV, OpenMP) have their own number of threads: set it to one there too.

## When to leave it
When the model is so large that several threads shorten the step by more than the workers take. Sums are added in
another order with another number of threads, so results differ in their last digits.

## References
- https://pytorch.org/docs/stable/notes/cpu_threading_torchscript_inference.html
- https://pytorch.org/docs/stable/generated/torch.set_num_threads.html
"""

LEAST_REMOVED: Final = 0.25
# By so much at most does another thread speed up the step: on two CPUs steps on one thread took 0.8 to 1.5 times as
# long as on two (measured with seven models).
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
        return _workers_beside_one_thread(look)
    threads, workers, delay = look.loader.math_threads, look.loader.num_workers, case.facts.host.training_delay
    if threads < 2 or workers < 1 or delay is None or threads + workers <= look.plan.cpus:
        return None
    account = look.supply.account
    delayed_ms = delay * account.batch_ms
    # One thread computes as long as several spin and wait for each other; how much longer, only a trial can tell.
    if (
        delayed_ms < THRESHOLDS.worth_saying_share * account.batch_ms
        or look.plan.step_cpu_ms < look.plan.step_ms * SPINNING
    ):
        return None
    return Found(
        title="Compute with one thread beside the workers: torch.set_num_threads(1)",
        says=(
            f"{count(threads, 'math thread')} and {count(workers, 'worker')} share {count(look.plan.cpus, 'CPU')}: the "
            f"training thread is ready and waits for a CPU for {ms(delayed_ms)} of every {ms(account.batch_ms)}."
        ),
        numbers=look.numbers | {"math_threads": float(threads), "delayed_ms": delayed_ms},
        before=f"# torch.get_num_threads() is {threads}",
        after="torch.set_num_threads(1)  # before training",
        gain=removed(
            account,
            delayed_ms,
            LEAST_REMOVED * delayed_ms,
            f"up to {ms(delayed_ms)} per batch in which the training thread waits for a CPU",
        ),
        alters=(Alters.PRECISION,),
    )


def _workers_beside_one_thread(look: LoaderLook) -> Found | None:
    workers, threads = advised_workers(look, 1), look.loader.math_threads
    if workers is None or threads is None or indexes_memory(look.loader) or not threads_in_the_way(look, workers):
        return None
    plan, step_ms = with_workers(look, workers), look.plan.step_ms
    # How much of the step's CPU time is spinning, nobody sees: at best all that several threads burn beyond one.
    alone_ms = min(step_ms * (1 + WORTH_OF_A_THREAD * (threads - 1)), look.plan.step_cpu_ms)
    best, worst = (replace(plan, step_ms=each_ms, step_cpu_ms=each_ms) for each_ms in (step_ms, alone_ms))
    before, after = loader_edit(look.loader, {"num_workers": workers, "persistent_workers": True})
    return Found(
        title=f"Load in the background beside one math thread: num_workers={workers}, torch.set_num_threads(1)",
        says=(
            f"Loading a batch takes {ms(look.load_ms)} and happens in the training process, between steps of "
            f"{ms(step_ms)}. {count(threads, 'math thread')} and {count(workers, 'worker')} would share "
            f"{count(look.plan.cpus, 'CPU')} and wait for each other: workers alone could slow the step down."
        ),
        numbers=look.numbers | {"workers_advised": float(workers), "math_threads": float(threads)},
        before=before,
        after=f"torch.set_num_threads(1)  # before training\n{after}",
        gain=look.supply.gain(
            best,
            f"{supplied(workers, best)} on several threads, {ms(alone_ms)} on one at most",
            worst=worst,
        ),
        alters=(Alters.PRECISION, *((Alters.RANDOMNESS,) if look.loader.random_items else ())),
    )
