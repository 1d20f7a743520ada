"""FW309: a tiny model whose steps are mostly the price of calling them."""

from typing import Final, NamedTuple

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.rule import Found, rule
from feedwatch.advise.symptoms import GPU_NO_FASTER, ONE_BUSY_CPU
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.account import Account
from feedwatch.model.steps import COMPUTE, INPUT_WAIT, OTHER
from feedwatch.model.verdict import Bound
from feedwatch.words import ms

STEPS: Final = 10
# In longer steps the call hardly counts.
SHORT_MS: Final = 3.0
# Fetching from the iterator is a part of the call. In a run that waits longer than that, the input has to come first.
MOST_WAITING: Final = 0.3
MOST_DELAY: Final = 0.75
# An epoch has to be long enough for full groups of steps.
LEAST_EPOCH: Final = 2 * STEPS


class Overhead(NamedTuple):
    """What ten steps per call saved per batch, measured on two CPUs with dense models of 0.3 to 2.4 ms per batch, from
    arrays and from tf.data. On a faster machine both step and call are shorter: so it is never more than a share.
    """

    most_ms: float
    least_ms: float
    most_share: float
    least_share: float


OVERHEAD: Final = {
    "tensorflow": Overhead(most_ms=0.9, least_ms=0.6, most_share=0.77, least_share=0.6),
    "jax": Overhead(most_ms=0.35, least_ms=0.12, most_share=0.6, least_share=0.15),
}

PAGE: Final = """
## What it sees
A compiled Keras model on TensorFlow or JAX with one step per call, whose steps take at most a few milliseconds, in a
run that does not mostly wait for its input.

## Why it costs
Every call of the train function costs Keras and its backend some tenths of a millisecond: fetching from the iterator,
starting the graph, reading the logs, callbacks. Where the model itself computes no longer than that, most of the step
is the call.

## Fix
`steps_per_execution=10` in `compile`: ten batches are trained in one call. The updates of the weights are the same;
callbacks run, and logs are written, once for every ten batches.

## When to leave it
When a callback has to see every single batch, or when the epoch has hardly more than ten batches.

## References
- https://keras.io/api/models/model_training_apis/
"""


@rule(
    PAGE,
    knob="steps_per_execution",
    relieves=Bound.COMPUTE,
    symptoms=(GPU_NO_FASTER, ONE_BUSY_CPU),
    edit_lines=1,
    needs=("RunFacts.run_eagerly",),
)
def RULE(case: Case) -> Found | None:
    account, run = case.account, case.facts.run
    overhead = OVERHEAD.get(run.backend) if run.framework == "keras" else None
    if account is None or overhead is None or run.run_eagerly is not False or run.steps_per_execution != 1:
        return None
    if case.verdict.bound is Bound.LAUNCH or case.counts.measured < THRESHOLDS.min_steady_steps:
        return None
    if (account.stall_ratio or 0.0) > MOST_WAITING:
        return None
    compute_ms, steps_ms = account.ms(COMPUTE), _steps_ms(account)
    if compute_ms is None or compute_ms > SHORT_MS or _epoch_batches(account) < LEAST_EPOCH:
        return None
    stretch = _stretch(case)
    most_ms = min(stretch * overhead.most_ms, overhead.most_share * steps_ms)
    least_ms = min(stretch * overhead.least_ms, overhead.least_share * steps_ms)
    because = f"{STEPS} steps per call save {ms(least_ms)} to {ms(most_ms)} of the {ms(account.batch_ms)} per batch"
    return Found(
        title=f"Train several batches per call: steps_per_execution={STEPS}",
        says=(
            f"A step takes {ms(steps_ms)} per batch, and a call of the train function alone costs {ms(least_ms)} or "
            "more, whatever the model computes: the loop around this model is a large part of its time."
        ),
        numbers={"steps_ms": steps_ms, "compute_ms": compute_ms, "batch_ms": account.batch_ms, "call_ms": least_ms},
        before="model.compile(...)",
        after=f"model.compile(..., steps_per_execution={STEPS})",
        gain=removed(account, most_ms, least_ms, because),
    )


def _stretch(case: Case) -> float:
    """A call takes longer where the training thread has to wait for a CPU."""
    delay = case.facts.host.training_delay
    return 1.0 if delay is None else 1.0 / (1.0 - min(max(delay, 0.0), MOST_DELAY))


def _epoch_batches(account: Account) -> float:
    return account.epoch_batches or account.batches / (account.epochs + 1)


def _steps_ms(account: Account) -> float:
    """The steps alone, without epoch starts, validation and gaps: only they get shorter."""
    return sum(account.ms(part) or 0.0 for part in (INPUT_WAIT, COMPUTE, OTHER))
