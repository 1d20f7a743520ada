"""Workers are started in a way that takes seconds."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.rule import Found, rule
from feedwatch.advise.snippets import loader_edit
from feedwatch.advise.symptoms import PAUSE_PER_EPOCH, SLOW_START
from feedwatch.model.account import EPOCH_START
from feedwatch.model.facts import Facts
from feedwatch.model.verdict import Bound
from feedwatch.words import count, seconds

PAGE = """
## What it sees
DataLoader workers that are started by spawn or forkserver for every epoch and take a long time to start.

## Why it costs
A spawned worker is a new interpreter: it imports the script and its libraries again, and the data set is pickled,
sent and unpickled for each of them. A data set that holds tables of Python objects takes long to pickle.

## Fix
`persistent_workers=True` starts them once (FW104). `multiprocessing_context="fork"` starts them in milliseconds where
forking is safe: on Linux, before CUDA or other threads are used by the data set. Or make the data set light: open
files in the worker, keep tables as arrays.

## When to leave it
When the program uses libraries that do not survive a fork (CUDA in the data set, some database clients, JAX).

## References
- https://docs.python.org/3/library/multiprocessing.html#contexts-and-start-methods
- https://pytorch.org/docs/stable/data.html#platform-specific-behaviors
"""

# A forked worker starts in a few hundredths of a second.
LEAST_START_MS: Final = 300.0


@rule(
    PAGE,
    knob="start method",
    relieves=Bound.INPUT,
    symptoms=(
        PAUSE_PER_EPOCH,
        SLOW_START,
    ),
    edit_lines=2,
    needs=("EpochBoundaries.loader_start_ms", "LoaderFacts.start_method"),
)
def RULE(case: Case) -> Found | None:
    loader, account, joints = case.facts.pipeline.loader, case.account, case.boundaries
    if (
        loader is None
        or account is None
        or loader.num_workers < 1
        or loader.start_method not in ("spawn", "forkserver")
    ):
        return None
    if not account.epochs or joints.loader_start_ms is None or loader.persistent_workers or not _may_fork(case.facts):
        return None
    typical = account.typical
    batches = typical.batches / account.epochs
    start_ms = (typical.ms(EPOCH_START) or 0.0) * batches
    if start_ms < LEAST_START_MS * loader.num_workers:
        return None
    before, after = loader_edit(loader, {"multiprocessing_context": "fork"})
    return Found(
        title=f"Start workers faster than by {loader.start_method}",
        says=(
            f"{count(loader.num_workers, 'worker')} started by {loader.start_method} take {seconds(start_ms / 1000)} "
            f"at the start of every epoch: each imports the program again and gets the data set as a pickle."
        ),
        numbers={"start_s": start_ms / 1000, "workers": float(loader.num_workers)},
        before=before,
        after=after,
        gain=removed(
            account,
            0.99 * start_ms / batches,
            0.8 * start_ms / batches,
            f"of a whole epoch: a forked worker starts in milliseconds, not in {seconds(start_ms / 1000)}",
        ),
    )


def _may_fork(facts: Facts) -> bool:
    """JAX has threads that do not survive a fork, and a forked worker cannot use CUDA: there FW104 is the answer."""
    loader = facts.pipeline.loader
    return facts.run.backend == "torch" and loader is not None and loader.device_tensors is not True
