"""FW301: the batch is there, but the device idles between short kernels."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.questions.copies import IdleLook, idle_look
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.symptoms import LOW_GPU_DATA_READY
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms, percent

# Launching a kernel takes 5-10 µs on the host. The device finishes shorter kernels before the next one is launched.
SHORT_KERNEL_MS: Final = 0.02
# Fusing operations or replaying them as a graph removes most of the gaps where shapes are fixed, a third at least.
MOST_REMOVED: Final = 0.8
LEAST_REMOVED: Final = 0.35

CODE: Final = {
    ("keras", "tensorflow"): "model.compile(..., jit_compile=True, steps_per_execution=16)",
    ("keras", "jax"): "model.compile(..., steps_per_execution=16)",
    ("keras", "torch"): "model.compile(..., jit_compile=True)",
    ("tensorflow", "tensorflow"): "@tf.function(jit_compile=True)  # on the function that trains one batch",
    ("jax", "jax"): "train_step = jax.jit(train_step)  # the function that trains one batch",
}
TORCH: Final = 'model = torch.compile(model, mode="reduce-overhead")'

PAGE: Final = """
## What it sees
A device that idles although its batch is there, with kernels of a few microseconds; or, where no profiler window was
taken, a device that NVML finds idle at least a third of the time.

## Why it costs
The host launches kernels one by one, five to ten microseconds each. When a kernel is done before the next one is
launched, the device waits for Python, not for data.

## Fix
Use a larger batch; compile the step (`jit_compile=True`, `torch.compile`), which fuses operations; run several steps
per call (`steps_per_execution`, with TensorFlow and JAX); capture the step in a CUDA graph (`mode="reduce-overhead"`).

## When to leave it
When shapes change at every step, so that compiling costs more than it saves.

## References
- https://pytorch.org/docs/stable/generated/torch.compile.html
- https://keras.io/api/models/model_training_apis/
"""


@rule(
    PAGE,
    knob="compile",
    relieves=Bound.LAUNCH,
    symptoms=(LOW_GPU_DATA_READY,),
    edit_lines=2,
    needs=(),
)
def RULE(case: Case) -> Found | None:
    look, run = idle_look(case), case.facts.run
    if look is None or (look.kernel_ms is not None and look.kernel_ms > SHORT_KERNEL_MS):
        return None
    most_ms, least_ms = MOST_REMOVED * look.idle_ms, LEAST_REMOVED * look.idle_ms
    because = (
        f"an estimate: {percent(LEAST_REMOVED)} to {percent(MOST_REMOVED)} of the {ms(look.idle_ms)} per batch in "
        "which the device waits for a launch"
    )
    return Found(
        title="Give the device larger pieces of work: compile the step, or use a larger batch",
        says=(
            f"The batch is there, yet the device idles {percent(look.idle_share)} of the time{_kernels(look)}. "
            f"{ms(look.idle_ms)} of the {ms(look.account.batch_ms)} per batch are lost."
        ),
        numbers=_numbers(look),
        before="model.compile(...)" if run.framework == "keras" else "model = Model(...)",
        after=CODE.get((run.framework, run.backend), TORCH),
        gain=removed(look.account, most_ms, least_ms, because),
        alters=(Alters.PRECISION,),
    )


def _kernels(look: IdleLook) -> str:
    if look.kernel_ms is None:
        return " (NVML)"
    return (
        f": {count(look.kernels_per_step, 'kernel')} per step take {ms(look.kernel_ms)} each, less than the host needs "
        "to launch the next"
    )


def _numbers(look: IdleLook) -> dict[str, float]:
    numbers = {"idle_share": look.idle_share, "idle_ms": look.idle_ms, "batch_ms": look.account.batch_ms}
    if look.kernels_per_step is not None and look.kernel_ms is not None:
        numbers |= {"kernels_per_step": look.kernels_per_step, "us_per_kernel": look.kernel_ms * 1000}
    return numbers
