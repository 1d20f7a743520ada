"""FW302: the training step runs eagerly."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.rule import Found, rule
from feedwatch.advise.symptoms import LOW_GPU_DATA_READY, ONE_BUSY_CPU
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.steps import COMPUTE
from feedwatch.model.verdict import Bound
from feedwatch.words import ms

# Eager operations cost 10-50 µs of Python each: nearly all of the step of a small model, little of a large one. Of nine
# models with two optimizers and two batch sizes on two CPUs, compiling made the largest convolutions 1.7 times as fast
# and thirty small dense layers 69 times. An eager step does not tell which it is: the range holds for the larger ones,
# and the sentence behind it says that small ones gain more.
LEAST_REMOVED: Final = 0.4
MOST_REMOVED: Final = 0.8
# When the run mostly waits for its input, compiling the step shortens nothing yet.
MOSTLY_WAITS: Final = 0.5

PAGE: Final = """
## What it sees
A Keras model compiled with `run_eagerly=True` (or `tf.config.run_functions_eagerly(True)`).

## Why it costs
Eager mode starts every operation from Python, one by one, and nothing can be fused, reordered or run ahead. It exists
for debugging.

## Fix
Set `run_eagerly=False` in `compile`, or remove it; everything else in the call stays.

## When to leave it
While you debug. In a custom `train_step` that needs Python control flow over values, try `tf.cond` and `tf.while_loop`
first.

## References
- https://keras.io/api/models/model_training_apis/
- https://www.tensorflow.org/guide/function
"""


@rule(
    PAGE,
    knob="run_eagerly",
    relieves=Bound.COMPUTE,
    symptoms=(LOW_GPU_DATA_READY, ONE_BUSY_CPU),
    edit_lines=1,
    needs=("RunFacts.run_eagerly",),
)
def RULE(case: Case) -> Found | None:
    account = case.account
    compute_ms = None if account is None else account.ms(COMPUTE)
    if case.facts.run.run_eagerly is not True or account is None or compute_ms is None:
        return None
    if case.counts.measured < THRESHOLDS.min_steady_steps or (account.stall_ratio or 0.0) > MOSTLY_WAITS:
        return None
    # Keras on torch has no other mode: there False means the same.
    if case.facts.run.backend == "torch":
        return None
    because = (
        f"an estimate: compiling takes {ms(LEAST_REMOVED * compute_ms)} or more of the {ms(compute_ms)} of computing "
        "away; a model of many small operations gains several times as much"
    )
    return Found(
        title="Compile the step: run_eagerly=False",
        says=(
            f"The step runs eagerly: {ms(compute_ms)} of computing per batch, every operation of it started by Python. "
            "Compiled, the same operations run without the interpreter in between."
        ),
        numbers={"compute_ms": compute_ms, "batch_ms": account.batch_ms},
        before="model.compile(..., run_eagerly=True)",
        after="model.compile(..., run_eagerly=False)",
        gain=removed(account, MOST_REMOVED * compute_ms, LEAST_REMOVED * compute_ms, because),
    )
