"""The input cannot be looked into: what makes the batches is not known."""

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Found, rule
from feedwatch.advise.symptoms import NOTHING_BUSY, SWINGING_GPU
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound
from feedwatch.words import ms

PAGE = """
## What it sees
A run that waits for batches of something whose inside is not visible: tf.data service, an iterator or wrapper of
one's own, a library that is not known.

## Why it costs
The wait is measured and true. What it is spent on happens elsewhere, in another process or behind an interface that
tells nothing.

## Fix
Use the settings of the thing that makes the batches: workers, read-ahead, shards. For tf.data service, more workers
or coordinated reads; for a wrapper, give the DataLoader or dataset inside it to `fit` directly once, so that it can
be looked into.

## When to leave it
When the source is a live stream that gives out what arrives.

## References
- https://www.tensorflow.org/api_docs/python/tf/data/experimental/service
"""


@rule(
    PAGE,
    knob="opaque",
    relieves=Bound.UNKNOWN,
    symptoms=(
        SWINGING_GPU,
        NOTHING_BUSY,
    ),
    edit_lines=1,
    needs=(),
)
def RULE(case: Case) -> Found | None:
    pipeline, account = case.facts.pipeline, case.account
    service = None if pipeline.tf_data is None else pipeline.tf_data.service
    if pipeline.stream is not None or (pipeline.kind in ("unknown", "iterable") and case.facts.run.backend == "torch"):
        return None  # FW142 speaks of libraries that load by themselves, FW119 of iterators in a torch loop
    hidden = pipeline.opaque or (f"tf.data service ({service})" if service else None)
    if account is None or hidden is None or (account.stall_ratio or 0.0) < THRESHOLDS.bounds_share:
        return None
    wait_ms = account.stalled_ms or 0.0
    return Found(
        title=f"Look inside {hidden}: training waits for it",
        says=(
            f"Batches come from {hidden}, which feedwatch cannot look into. Training waits {ms(wait_ms)} of "
            f"{ms(account.batch_ms)} per batch; why it is slow is not known."
        ),
        numbers={"wait_ms": wait_ms, "batch_ms": account.batch_ms},
        before=f"# {hidden}",
        after="# its own settings for workers, read-ahead and shards are what to try first",
    )
