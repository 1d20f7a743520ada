"""FW306: a busy device computes in float32 although it has tensor cores."""

from typing import Final, NamedTuple

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.questions.copies import idle_share
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.symptoms import BUSY_GPU_SLOW
from feedwatch.model.steps import COMPUTE
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, percent

FULL: Final = ("32", "32-true", "float32")
# Units for bfloat16 came with this compute capability; older tensor cores know float16 only.
BFLOAT16_FROM: Final = (8, 0)
# A device that idles more than this is not held up by its arithmetic.
MOST_IDLE: Final = 0.2


class Removed(NamedTuple):
    """Shares of the time spent computing that mixed precision takes away. Estimates: it depends on the model."""

    most: float
    least: float


# Tensor cores make matrix products several times faster and the rest, bound by memory, at most twice as fast.
FROM_FLOAT32: Final = Removed(0.55, 0.3)
# TF32 has sped the products up already: half of the bytes are what is left to gain.
FROM_TF32: Final = Removed(0.35, 0.1)

PAGE: Final = """
## What it sees
A compute-bound run in plain float32 on a busy device with tensor cores.

## Why it costs
Tensor cores multiply half-precision matrices several times faster than the other units multiply float32, and
half-precision activations take half of the memory.

## Fix
Train in mixed precision: weights stay in float32, matrix products run in bfloat16 where the device has units for it
(compute capability 8.0, Ampere, and later), else in float16 with loss scaling.

## When to leave it
When the loss becomes unstable, or when results must match an earlier float32 run.

## References
- https://lightning.ai/docs/pytorch/stable/common/precision_intermediate.html
- https://keras.io/api/mixed_precision/
- https://pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices
"""


@rule(
    PAGE,
    knob="precision",
    relieves=Bound.COMPUTE,
    symptoms=(BUSY_GPU_SLOW,),
    edit_lines=1,
    needs=("RunFacts.capability", "RunFacts.precision", "RunFacts.tensor_cores", "RunFacts.tf32"),
)
def RULE(case: Case) -> Found | None:
    run, account, facts = case.run, case.account, case.facts.run
    compute_ms = None if account is None else account.ms(COMPUTE)
    if run is None or account is None or compute_ms is None or case.verdict.bound is not Bound.COMPUTE:
        return None
    if facts.tensor_cores is not True or facts.capability is None or facts.tf32 is None or facts.precision not in FULL:
        return None
    idle = idle_share(case, run)
    if idle is None or idle > MOST_IDLE:
        return None
    bfloat16, share = facts.capability >= BFLOAT16_FROM, FROM_TF32 if facts.tf32 else FROM_FLOAT32
    because = (
        f"an estimate: mixed precision takes {percent(share.least)} to {percent(share.most)} of the {ms(compute_ms)} "
        "of computing away, depending on the share of matrix products"
    )
    return Found(
        title=f"Use mixed precision ({'bfloat16' if bfloat16 else 'float16'}): the device is busy with float32",
        says=(
            f"The device is busy: {ms(compute_ms)} of the {ms(account.batch_ms)} per batch is computing, in "
            f"{'TF32' if facts.tf32 else 'plain float32'}, on {facts.device_name or 'a device'} with tensor cores for "
            "half precision."
        ),
        numbers={"compute_ms": compute_ms, "batch_ms": account.batch_ms, "idle_share": idle},
        before=f"# precision: {facts.precision}",
        after=_code(facts.framework, bfloat16=bfloat16),
        gain=removed(account, share.most * compute_ms, share.least * compute_ms, because),
        alters=(Alters.PRECISION,),
    )


def _code(framework: str, *, bfloat16: bool) -> str:
    if framework == "huggingface":
        return f"args = TrainingArguments(..., {'bf16' if bfloat16 else 'fp16'}=True)"
    if framework in ("keras", "tensorflow", "jax"):
        policy = "mixed_bfloat16" if bfloat16 else "mixed_float16"
        return f'keras.mixed_precision.set_global_policy("{policy}")  # before the model is built'
    return f'trainer = Trainer(..., precision="{"bf16-mixed" if bfloat16 else "16-mixed"}")'
