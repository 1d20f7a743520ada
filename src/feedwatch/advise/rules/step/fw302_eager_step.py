"""FW302: the training step runs eagerly."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.step_model import removed_gain, step_times
from feedwatch.advise.symptoms import LOW_GPU_DATA_READY, ONE_BUSY_CPU
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.steps import COMPUTE
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import ms, percent

# Eager operations cost 10-50 µs of Python each: nearly all of the step of a small model, little of a large one. Of nine
# models with two optimizers and two batch sizes on two CPUs, compiling made the largest convolutions 1.7 times as fast
# and thirty small dense layers 69 times: the range is as wide as that, and an eager step does not tell which it is.
# What a compiled step of an empty model takes (measured) is left in any case.
COMPILED_MS: Final = 0.65
LEAST_REMOVED: Final = 0.1


def check(case: Case) -> Evidence | None:
    compute, times = case.phase(COMPUTE), step_times(case)
    if case.facts.run.run_eagerly is not True or case.run is None or compute is None or times is None:
        return None
    if case.counts.measured < THRESHOLDS.min_steady_steps or case.run.batches <= 0:
        return None
    # When the step mostly waits for its input, compiling it shortens nothing yet.
    if case.verdict.bound is Bound.INPUT and times.wait_share > 0.5:
        return None
    compute_ms = compute.total_ns / case.run.batches / 1e6
    return Evidence(
        says=(
            f"The step runs eagerly: {ms(compute_ms)} of computing per batch, every operation of it "
            f"started by Python. "
            "Compiled, the same operations run without the interpreter in between."
        ),
        numbers={
            "compute_ms": min(compute_ms, times.step_ms),
            # When input is not the limit, the wait is eager Python's own overhead as well.
            "eager_ms": min(compute_ms + (0.0 if case.verdict.bound is Bound.INPUT else times.wait_ms), times.step_ms),
            "step_ms": times.step_ms,
        },
        blanks={"keras": "model.compile(optimizer=model.optimizer, loss=model.loss"},
    )


def predict(_case: Case, evidence: Evidence) -> Gain | None:
    compute_ms = evidence.numbers["compute_ms"]
    because = (
        f"compiling removes {percent(LEAST_REMOVED)} of the {ms(compute_ms)} of computing (large operations) to all "
        f"but {ms(COMPILED_MS)} (many small ones)"
    )
    most_ms = max(LEAST_REMOVED * compute_ms, evidence.numbers["eager_ms"] - COMPILED_MS)
    removed_ms = (most_ms, LEAST_REMOVED * compute_ms)
    return removed_gain(evidence.numbers["step_ms"], removed_ms, because)


RULE: Final = Rule(
    code="FW302",
    name="eager-step",
    title="Compile the step: remove run_eagerly=True",
    before="$keras, run_eagerly=True)",
    after="$keras, run_eagerly=False)",
    page=Page(
        sees="A Keras model compiled with `run_eagerly=True` (or `tf.config.run_functions_eagerly(True)`).",
        why=(
            "Eager mode starts every operation from Python, one by one, and nothing can be fused, "
            "reordered or run ahead. It exists for debugging."
        ),
        fix="Remove `run_eagerly=True` from `compile`.",
        leave=(
            "While you debug. In a custom `train_step` that needs Python control flow over values, try "
            "`tf.cond` and `tf.while_loop` first."
        ),
        references=(
            "https://keras.io/api/models/model_training_apis/",
            "https://www.tensorflow.org/guide/function",
        ),
    ),
    symptoms=(LOW_GPU_DATA_READY, ONE_BUSY_CPU),
    relieves=Bound.COMPUTE,
    edit_lines=1,
    needs=("RunFacts.run_eagerly",),
    check=check,
    predict=predict,
)
