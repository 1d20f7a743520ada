"""FW304: a callback or logger takes the time between steps."""

import math
from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import identifier
from feedwatch.advise.step_model import removed_gain
from feedwatch.advise.symptoms import LOW_GPU_DATA_READY, PAUSES_BETWEEN_STEPS
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, ms, percent

# Called this rarely it costs a hundredth of the step, which nobody notices.
UNNOTICED_SHARE: Final = 0.01
# Its work may cost time elsewhere as well: a flush, a lock, garbage collection.
LEAST_REMOVED: Final = 0.8
# It empties the CPU's caches for the next step: the rest of the step was 0 to 7 % shorter without it (eight
# comparisons). At best that is gained as well.
COLD_SHARE: Final = 0.07
STRIDES: Final = (10, 20, 50, 100, 200, 500, 1000)


def check(case: Case) -> Evidence | None:
    run = case.run
    if run is None or run.steps < THRESHOLDS.min_steady_steps or not case.facts.callbacks:
        return None
    slowest = max(case.facts.callbacks, key=lambda callback: callback.ms_per_step)
    step_ms = run.wall_ns / run.steps / 1e6
    share = slowest.ms_per_step / step_ms if step_ms > 0 else 0.0
    if share < THRESHOLDS.worth_saying_share or slowest.ms_per_step < THRESHOLDS.loop_floor_ms:
        return None
    cost_ms = min(slowest.ms_per_step, step_ms)
    wanted = math.ceil(cost_ms / (UNNOTICED_SHARE * max(step_ms - cost_ms, 0.1 * step_ms)))
    stride = next((one for one in STRIDES if one >= wanted), STRIDES[-1])
    return Evidence(
        says=(
            f"{slowest.name} takes {ms(cost_ms)} of every {ms(step_ms)} step "
            f"({percent(min(1.0, share))}), between the "
            f"steps, while the device waits. Done every {stride} steps it costs {ms(cost_ms / stride)}."
        ),
        numbers={
            "callback_ms": cost_ms,
            "step_ms": step_ms,
            "share": min(1.0, share),
            "every_n_steps": float(stride),
        },
        blanks={
            "name": slowest.name,
            "class": identifier(slowest.name, "Slow"),
            "stride": str(stride),
            "after": "batch" if case.facts.run.framework == "keras" else "batch_idx",
            "arguments": "batch, logs=None" if case.facts.run.framework == "keras" else LIGHTNING_ARGUMENTS,
        },
    )


def predict(_case: Case, evidence: Evidence) -> Gain | None:
    numbers = evidence.numbers
    removed_ms = numbers["callback_ms"] * (1 - 1 / numbers["every_n_steps"])
    because = (
        f"{ms(removed_ms)} of {ms(numbers['step_ms'])} per step are gone when it runs every "
        f"{count(numbers['every_n_steps'], 'step')}"
    )
    most_ms = removed_ms + COLD_SHARE * (numbers["step_ms"] - removed_ms)
    return removed_gain(numbers["step_ms"], (most_ms, LEAST_REMOVED * removed_ms), because)


LIGHTNING_ARGUMENTS: Final = "trainer, pl_module, outputs, batch, batch_idx"


RULE: Final = Rule(
    code="FW304",
    name="slow-callback",
    title="Call $name less often: every $stride steps",
    before="""def on_train_batch_end(self, $arguments):  # $class
    self.report()""",
    after="""def on_train_batch_end(self, $arguments):  # $class
    if $after % $stride == 0:
        self.report()""",
    page=Page(
        sees="A callback or logger, by name, that takes a visible part of the step.",
        why=(
            "Callbacks run between two steps, one after the other. While they write, log or draw, no "
            "batch is processed."
        ),
        fix=(
            "Do it every N steps, at the end of the epoch, or in a thread. Lightning's loggers follow "
            "`Trainer(log_every_n_steps=…)`; Keras' TensorBoard callback follows `update_freq`."
        ),
        leave="When the callback's work is the purpose of the run.",
        references=(
            "https://lightning.ai/docs/pytorch/stable/common/trainer.html#log-every-n-steps",
            "https://keras.io/api/callbacks/tensorboard/",
        ),
    ),
    symptoms=(PAUSES_BETWEEN_STEPS, LOW_GPU_DATA_READY),
    relieves=Bound.HOST,
    edit_lines=1,
    needs=("Facts.callbacks",),
    check=check,
    predict=predict,
)
