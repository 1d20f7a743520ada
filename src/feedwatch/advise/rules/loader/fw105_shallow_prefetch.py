"""On average the workers keep up, but their pauses are longer than the queue."""

import math
from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.questions.loader import DEFAULT_PREFETCH
from feedwatch.advise.rule import Found, rule
from feedwatch.advise.snippets import loader_edit
from feedwatch.advise.supply import supply
from feedwatch.advise.symptoms import IRREGULAR_STEPS
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.steps import INPUT_WAIT
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms, percent

PAGE = """
## What it sees
Workers that are fast enough on average, in a run whose waits come in clumps.

## Why it costs
Items differ in size: a few large ones in a row, a slow moment of the disk. The queue holds `num_workers ×
prefetch_factor` batches; when a burst lasts longer than that, the step waits although the workers idle at other
times.

## Fix
Raise `prefetch_factor` by the longest wait divided by the rest of the step, spread over the workers.

## When to leave it
When memory is short: every batch in the queue is held in memory.

## References
- https://pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
"""

# Waits in more steps than this are no bursts.
MOST_STALLED_SHARE: Final = 0.35
# More batches per worker than this take too much memory. A burst that long needs another fix.
MOST_PREFETCH: Final = 64
MOST_OF_MEMORY: Final = 0.5
# A deeper queue removes bursts as long as those seen, and longer ones may come.
LEAST_REMOVED: Final = 0.7
# The steps behind a pause are shorter, too, when the pause is gone.
MOST_REMOVED: Final = 1.1


@rule(
    PAGE,
    knob="prefetch",
    relieves=Bound.INPUT,
    symptoms=(IRREGULAR_STEPS,),
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "LoaderFacts.load_ms"),
)
def RULE(case: Case) -> Found | None:
    look, run = supply(case), case.run
    loader = case.facts.pipeline.loader
    if look is None or loader is None or run is None or run.clumps is None or loader.num_workers < 1:
        return None
    account, load = look.account, loader.load_ms
    wait_ms, rest_ms = account.ms(INPUT_WAIT) or 0.0, look.plan.step_ms + look.plan.handover_ms
    # Iterable data sets: what a worker reads between two batches is in none of its batches. Ready batches tell then.
    if load is None or load / loader.num_workers >= rest_ms:
        return None
    if wait_ms - (loader.delivery_ms or 0.0) < THRESHOLDS.worth_saying_share * account.batch_ms:
        return None
    stalled_share = run.clumps.stalled_steps / max(1, run.steps)
    if run.clumps.stalled_steps == 0 or stalled_share > MOST_STALLED_SHARE:
        return None
    depth, burst_ms = loader.prefetch_factor or DEFAULT_PREFETCH, run.clumps.largest_wait_ns / 1e6
    missing = math.ceil(burst_ms / max(rest_ms, 1e-3))
    deeper = depth + math.ceil(missing / loader.num_workers)
    batch, free_gb = case.facts.batch, case.facts.host.shm_free_gb
    held = 0 if batch is None else deeper * loader.num_workers * batch.size_bytes
    if deeper > MOST_PREFETCH or (free_gb is not None and held > MOST_OF_MEMORY * free_gb * 1e9):
        return None
    # The queue can only be filled in the time that the workers are faster than the step.
    slack_ms = rest_ms - load / loader.num_workers
    pause_ms = wait_ms / max(stalled_share, 1e-9)
    filled = min(1.0, slack_ms * max(0.0, 1 - stalled_share) / max(stalled_share * pause_ms, 1e-9))
    before, after = loader_edit(loader, {"prefetch_factor": deeper})
    workers = "1 worker keeps" if loader.num_workers == 1 else f"{loader.num_workers} workers keep"
    return Found(
        title=f"Bridge the pauses: prefetch_factor={deeper}",
        says=(
            f"On average {workers} up (a batch every {ms(load / loader.num_workers)}, "
            f"the step takes {ms(rest_ms)}), but {percent(stalled_share)} of the steps wait, up to {ms(burst_ms)}: "
            f"{count(missing, 'more batch', 'more batches')} in the queue bridge that."
        ),
        numbers={
            "load_ms": load,
            "step_ms": rest_ms,
            "wait_ms": wait_ms,
            "burst_ms": burst_ms,
            "stalled_share": stalled_share,
            "prefetch_factor": float(depth),
            "prefetch_factor_advised": float(deeper),
        },
        before=before,
        after=after,
        gain=removed(
            account,
            wait_ms * MOST_REMOVED,
            wait_ms * LEAST_REMOVED * filled,
            f"{ms(wait_ms)} of waiting per batch are bridged as far as the queue can be filled between the pauses",
        ),
    )
