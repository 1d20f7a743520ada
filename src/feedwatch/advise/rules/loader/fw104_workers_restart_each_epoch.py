"""Workers are started again for every epoch."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.rule import Found, rule
from feedwatch.advise.snippets import loader_edit
from feedwatch.advise.symptoms import PAUSE_PER_EPOCH
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.account import EPOCH_START
from feedwatch.model.verdict import Bound
from feedwatch.words import count, percent, seconds

PAGE = """
## What it sees
A stall at the start of every epoch that is the start of the DataLoader's workers, with `persistent_workers` off.

## Why it costs
Without `persistent_workers` every epoch forks (or spawns, and then imports everything again in) all workers and fills
their queues from nothing. With spawn that is several seconds per epoch, whatever the length of the epoch.

## Fix
Pass `persistent_workers=True`. Seconds per epoch, not a share of the step: the shorter the epoch, the larger the
gain.

## When to leave it
When the data set object is changed between epochs (a new file list, a curriculum): workers that stay alive keep their
old copy.

## References
- https://pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
- https://github.com/pytorch/pytorch/issues/23662
"""

# Workers that stay still have to fill their queues in every epoch. Ending workers takes time in the gap as well.
LEAST_SAVED: Final = 0.9
MOST_SAVED: Final = 1.01


@rule(
    PAGE,
    knob="persistent workers",
    relieves=Bound.INPUT,
    symptoms=(PAUSE_PER_EPOCH,),
    edit_lines=1,
    needs=("EpochBoundaries.loader_start_ms", "PipelineFacts.loader"),
)
def RULE(case: Case) -> Found | None:
    loader, account, joints = case.facts.pipeline.loader, case.account, case.boundaries
    if loader is None or account is None or loader.num_workers < 1 or loader.persistent_workers:
        return None
    if not account.epochs or joints.loader_start_ms is None:
        return None
    # The first batch of an epoch has to be loaded in any case. Only the time beyond that is the restart.
    typical = account.typical
    start_ms = (typical.ms(EPOCH_START) or 0.0) * typical.batches / max(1, account.epochs)
    epoch_ms = typical.batch_ms * typical.batches / max(1, account.epochs)
    restart_ms = start_ms - (loader.load_ms or 0.0)
    if restart_ms < THRESHOLDS.worth_saying_share * epoch_ms:
        return None
    batches = typical.batches / account.epochs
    method = f" ({loader.start_method})" if loader.start_method else ""
    before, after = loader_edit(loader, {"persistent_workers": True})
    return Found(
        title="Keep the workers between epochs: persistent_workers=True",
        says=(
            f"Starting {count(loader.num_workers, 'worker')}{method} and their first batch take "
            f"{seconds(start_ms / 1000)} at the start of every epoch, {percent(restart_ms / epoch_ms)} of an epoch of "
            f"{seconds(epoch_ms / 1000)}: they are thrown away and started again."
        ),
        numbers={
            "restart_s": restart_ms / 1000,
            "epoch_s": epoch_ms / 1000,
            "boundaries": float(account.epochs),
            "workers": float(loader.num_workers),
        },
        before=before,
        after=after,
        gain=removed(
            account,
            MOST_SAVED * restart_ms / batches,
            LEAST_SAVED * restart_ms / batches,
            f"of a whole epoch: {seconds(LEAST_SAVED * restart_ms / 1000)} to "
            f"{seconds(MOST_SAVED * restart_ms / 1000)} of its start are gone",
        ),
    )
