"""FW306: a busy device computes in float32 although it has tensor cores."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.step_model import removed_gain
from feedwatch.advise.symptoms import BUSY_GPU_SLOW
from feedwatch.model.steps import COMPUTE
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import ms

FULL: Final = ("32", "32-true", "float32")
# Tensor cores make matrix products several times faster and the rest no faster: whole steps gain 1.1 to 3 times.
MOST_REMOVED: Final = 2 / 3
LEAST_REMOVED: Final = 0.1

KERAS: Final = 'keras.mixed_precision.set_global_policy("mixed_bfloat16")  # before the model is built'
LIGHTNING: Final = 'trainer = Trainer(precision="bf16-mixed")'


def check(case: Case) -> Evidence | None:
    run, facts, compute = case.run, case.facts.run, case.phase(COMPUTE)
    if run is None or run.steps <= 0 or compute is None or case.verdict.bound is not Bound.COMPUTE:
        return None
    if facts.tensor_cores is not True or facts.precision not in FULL:
        return None
    step_ms = run.wall_ns / run.steps / 1e6
    compute_ms = min(step_ms, compute.total_ns / run.steps / 1e6)
    return Evidence(
        says=(
            f"The device is busy: {ms(compute_ms)} of every {ms(step_ms)} step is computing, in plain float32, on "
            f"{facts.device_name or 'a device'} with tensor cores that stand idle."
        ),
        numbers={"compute_ms": compute_ms, "step_ms": step_ms},
        blanks={
            "after": KERAS if facts.framework == "keras" else LIGHTNING,
            "precision": facts.precision,
        },
    )


def predict(_case: Case, evidence: Evidence) -> Gain | None:
    compute_ms = evidence.numbers["compute_ms"]
    because = (
        f"mixed precision makes whole steps 1.1 to 3 times faster, depending on the share of matrix "
        f"products in {ms(compute_ms)}"
    )
    removed_ms = (MOST_REMOVED * compute_ms, LEAST_REMOVED * compute_ms)
    return removed_gain(evidence.numbers["step_ms"], removed_ms, because)


RULE: Final = Rule(
    code="FW306",
    name="full-precision",
    title="Use mixed precision: the device is busy with float32",
    before="# precision: $precision",
    after="$after",
    page=Page(
        sees="A compute-bound run in plain float32 on a device with tensor cores.",
        why=(
            "Tensor cores multiply half-precision matrices several times faster than the other units "
            "multiply float32, and half-precision activations take half of the memory."
        ),
        fix=(
            "Train in mixed precision: weights stay in float32, matrix products run in bfloat16 (or "
            "float16 with loss scaling on older devices)."
        ),
        leave="When the loss becomes unstable, or when results must match an earlier float32 run.",
        references=(
            "https://lightning.ai/docs/pytorch/stable/common/precision_intermediate.html",
            "https://keras.io/api/mixed_precision/",
        ),
    ),
    symptoms=(BUSY_GPU_SLOW,),
    relieves=Bound.COMPUTE,
    edit_lines=1,
    needs=("RunFacts.precision", "RunFacts.tensor_cores"),
    check=check,
    predict=predict,
)
