"""FW301: the batch is there, but the device idles between short kernels."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.copies import idle_look
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.step_model import removed_gain
from feedwatch.advise.symptoms import LOW_GPU_DATA_READY
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, ms, percent

# Launching a kernel takes 5-10 µs on the host. The device finishes shorter kernels before the next one is launched.
SHORT_KERNEL_MS: Final = 0.02
# Fusing operations or replaying them as a graph removes a fifth of the gaps at least.
LEAST_REMOVED: Final = 0.2

KERAS: Final = """model.compile(
    optimizer=model.optimizer,
    loss=model.loss,
    jit_compile=True,
    steps_per_execution=16,
)"""
LIGHTNING: Final = """model = torch.compile(model, mode="reduce-overhead")
trainer.fit(model, loader)"""


def check(case: Case) -> Evidence | None:
    look = idle_look(case)
    if look is None or look.kernel_ms is None or look.kernel_ms > SHORT_KERNEL_MS:
        return None
    return Evidence(
        says=(
            f"The batch is there, yet the device idles {percent(look.idle_share)} of the time: "
            f"{count(look.kernels_per_step, 'kernel')} "
            f"per step take {ms(look.kernel_ms)} each, less than the host needs to launch the next. A step "
            f"takes {ms(look.step_ms)}."
        ),
        numbers={
            "idle_share": look.idle_share,
            "kernels_per_step": look.kernels_per_step,
            "us_per_kernel": look.kernel_ms * 1000,
            "step_ms": look.step_ms,
        },
        blanks={"after": KERAS if case.facts.run.framework == "keras" else LIGHTNING},
    )


def predict(_case: Case, evidence: Evidence) -> Gain | None:
    step_ms = evidence.numbers["step_ms"]
    idle_ms = evidence.numbers["idle_share"] * step_ms
    because = f"{percent(LEAST_REMOVED)} to all of the {ms(idle_ms)} per step in which the device waits for a launch"
    return removed_gain(step_ms, (idle_ms, LEAST_REMOVED * idle_ms), because)


RULE: Final = Rule(
    code="FW301",
    name="launch-bound-step",
    title="Give the device larger pieces of work: compile the step, or use a larger batch",
    before="# many short kernels, launched one by one",
    after="$after",
    page=Page(
        sees="A device that idles although its batch is there, with kernels of a few microseconds.",
        why=(
            "The host launches kernels one by one, five to ten microseconds each. When a kernel is done "
            "before the next one is launched, the device waits for Python, not for data."
        ),
        fix=(
            "Use a larger batch; compile the step (`jit_compile=True`, `torch.compile`), which fuses "
            "operations; run several steps per call (`steps_per_execution`); capture the step in a CUDA "
            'graph (`mode="reduce-overhead"`).'
        ),
        leave="When shapes change at every step, so that compiling costs more than it saves.",
        references=(
            "https://pytorch.org/docs/stable/generated/torch.compile.html",
            "https://keras.io/api/models/model_training_apis/",
        ),
    ),
    symptoms=(LOW_GPU_DATA_READY,),
    relieves=Bound.LAUNCH,
    edit_lines=2,
    needs=("Facts.transfers",),
    check=check,
    predict=predict,
)
