"""FW303: the train function is traced again and again."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.symptoms import IRREGULAR_STEPS
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.steps import COMPUTE
from feedwatch.model.verdict import Bound
from feedwatch.words import percent, seconds

# One late trace is normal (a last, smaller batch). The third one is a pattern.
LEAST_RETRACES: Final = 3
# Tracing is not the only reason why these steps are slow.
LEAST_SAVED: Final = 0.5

PAGE: Final = """
## What it sees
A train function that is traced again in steady state, with steps that take much longer than usual.

## Why it costs
TensorFlow, JAX and torch.compile build a program for the shapes and Python values they saw. A new shape (the smaller
last batch, texts padded to different lengths) or a Python number as argument is a new program, which takes seconds to
build.

## Fix
Keep shapes fixed: `drop_remainder=True`, pad to a few fixed lengths, pass tensors instead of Python numbers.

## When to leave it
When there are a handful of shapes in all: they are traced once each, and then known.

## References
- https://www.tensorflow.org/guide/function#controlling_retracing
"""


@rule(
    PAGE,
    knob="shapes",
    relieves=Bound.COMPUTE,
    symptoms=(IRREGULAR_STEPS,),
    edit_lines=1,
    needs=("RunFacts.retraces",),
)
def RULE(case: Case) -> Found | None:
    retraces, compute, account = case.facts.run.retraces, case.phase(COMPUTE), case.account
    if retraces is None or retraces < LEAST_RETRACES or case.run is None or compute is None or account is None:
        return None
    lost_ns = max(0.0, compute.total_ns - compute.median_ns * case.run.steps)
    share = lost_ns / account.wall_ns
    if share < THRESHOLDS.worth_saying_share:
        return None
    lost_ms = lost_ns / account.batches / 1e6
    because = f"{percent(LEAST_SAVED)} to all of the {seconds(lost_ns / 1e9)} in slow steps is tracing"
    batch_size = case.facts.run.batch_size or 32
    return Found(
        title="Keep the shapes fixed: drop_remainder=True",
        says=(
            f"The train function was traced {retraces} more times after the start. Steps that are longer than usual "
            f"took {seconds(lost_ns / 1e9)} more, {percent(share)} of the time: each new shape or Python value is "
            "a new trace."
        ),
        numbers={"retraces": float(retraces), "lost_s": lost_ns / 1e9, "share": share},
        before=f"dataset = dataset.batch({batch_size})",
        after=f"dataset = dataset.batch({batch_size}, drop_remainder=True)",
        gain=removed(account, lost_ms, LEAST_SAVED * lost_ms, because),
        alters=(Alters.UPDATES,),
    )
