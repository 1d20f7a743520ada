"""The pipeline starts on the next batch only when the step asks for it."""

from dataclasses import replace

from feedwatch.advise.case import Case
from feedwatch.advise.questions.tf_data import tf_look
from feedwatch.advise.rule import Found, rule
from feedwatch.advise.snippets import place
from feedwatch.advise.symptoms import GPU_NO_FASTER, SUM_OF_BOTH, SWINGING_GPU
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound
from feedwatch.words import ms

PAGE = """
## What it sees
A tf.data pipeline that does not end in `prefetch`, in a run that waits for its input.

## Why it costs
tf.data works on demand: without a prefetch at the end, the last stages run only while the training step waits for
them, and stand still while it computes. A step costs the sum of both. Keras appends a prefetch for arrays, generators
and PyDataset, but not for a `tf.data.Dataset`.

## Fix
Make `.prefetch(tf.data.AUTOTUNE)` the last call of the pipeline, after `batch`.

## When to leave it
When memory is so short that even one more batch does not fit.

## References
- https://www.tensorflow.org/guide/data_performance#prefetching
- https://www.tensorflow.org/api_docs/python/tf/data/Dataset#prefetch
"""


@rule(
    PAGE,
    knob="prefetch",
    relieves=Bound.INPUT,
    symptoms=(
        SWINGING_GPU,
        SUM_OF_BOTH,
        GPU_NO_FASTER,
    ),
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "TfStage.ms_per_batch"),
)
def RULE(case: Case) -> Found | None:
    look = tf_look(case)
    if look is None or look.plan.ahead:
        return None
    exposed_ms = look.plan.threads_ms(look.plan.last_threads)
    if exposed_ms < THRESHOLDS.handover_floor_ms:
        return None
    plan = replace(look.plan, ahead=True, handover_ms=max(look.plan.handover_ms, THRESHOLDS.handover_floor_ms))
    last = look.data.stages[-1]
    return Found(
        title="End the pipeline with .prefetch(tf.data.AUTOTUNE)",
        says=(
            f"The pipeline ends in {place(last)}, without a prefetch: the step waits {ms(exposed_ms)} for its batch, "
            f"then the pipeline waits {ms(look.plan.step_ms)} for the step. They take turns."
        ),
        numbers=look.numbers | {"exposed_ms": exposed_ms},
        before=f"dataset = dataset  # ends in {place(last)}",
        after=f"dataset = dataset.prefetch(tf.data.AUTOTUNE)  # last, after {place(last)}",
        gain=look.supply.gain(
            plan, f"{ms(exposed_ms)} of loading beside {ms(look.plan.step_ms)} of training, not before it"
        ),
    )
