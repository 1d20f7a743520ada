"""FW304: a callback or logger takes the time between steps."""

import math
from typing import Final, NamedTuple

from feedwatch.advise.case import Case
from feedwatch.advise.gains import COLDEST, batches_per_step, cold_ms, removed
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import identifier
from feedwatch.advise.symptoms import LOW_GPU_DATA_READY, PAUSES_BETWEEN_STEPS
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.account import Account
from feedwatch.model.facts import CallbackTime
from feedwatch.model.steps import OTHER
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms, percent

# Called this rarely it costs a hundredth of the step, which nobody notices.
UNNOTICED_SHARE: Final = 0.01
# Its work may cost time elsewhere as well: a flush, a lock, garbage collection.
LEAST_REMOVED: Final = 0.9
STRIDES: Final = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
# Work that varies from step to step looks a little as if it were left out now and then.
RARELY: Final = 3.0

LIGHTNING_ARGUMENTS: Final = "trainer, pl_module, outputs, batch, batch_idx"

PAGE: Final = """
## What it sees
A callback or logger, by name, that takes a visible part of the run.

## Why it costs
Callbacks run between two steps, one after the other. While they write, log or draw, no batch is processed. On a device
with a clock of its own only the time counts in which the device had nothing to do: a callback that merely waits for the
device's result costs nothing by itself (reads of device values are FW305).

## Fix
Do it every N steps, at the end of the epoch, or in a thread. Lightning's loggers follow
`Trainer(log_every_n_steps=…)`, its ModelCheckpoint `every_n_train_steps`, its progress bar `refresh_rate`; Keras'
TensorBoard callback follows `update_freq`, its ModelCheckpoint `save_freq`.

## When to leave it
When the callback's work is the purpose of the run.

## References
- https://lightning.ai/docs/pytorch/stable/common/trainer.html#log-every-n-steps
- https://lightning.ai/docs/pytorch/stable/api/lightning.pytorch.callbacks.ModelCheckpoint.html
- https://keras.io/api/callbacks/tensorboard/
"""


# A callback that reads a value from the device waits there, and the device idles a little after it. One during which
# the device idles at least half of the time has work of its own.
MOSTLY_WORK: Final = 0.5


class Edit(NamedTuple):
    """What is edited, with `{n}` for how often."""

    before: str
    after: str


# Callbacks of the frameworks that have a setting for it. Loggers of Lightning, whatever their name, have one as well.
SETTINGS: Final = {
    ("lightning", "ModelCheckpoint"): Edit("ModelCheckpoint(...)", "ModelCheckpoint(..., every_n_train_steps={n})"),
    ("lightning", "TQDMProgressBar"): Edit("TQDMProgressBar(...)", "TQDMProgressBar(refresh_rate={n})"),
    ("lightning", "RichProgressBar"): Edit("RichProgressBar(...)", "RichProgressBar(..., refresh_rate={n})"),
    ("keras", "ModelCheckpoint"): Edit(
        "keras.callbacks.ModelCheckpoint(...)", "keras.callbacks.ModelCheckpoint(..., save_freq={n})"
    ),
    ("keras", "TensorBoard"): Edit(
        "keras.callbacks.TensorBoard(...)", "keras.callbacks.TensorBoard(..., update_freq={n})"
    ),
    ("keras", "BackupAndRestore"): Edit(
        "keras.callbacks.BackupAndRestore(...)", "keras.callbacks.BackupAndRestore(..., save_freq={n})"
    ),
}
LOGGER: Final = Edit("trainer = Trainer(...)", "trainer = Trainer(..., log_every_n_steps={n})")


@rule(
    PAGE,
    knob="callback",
    relieves=Bound.HOST,
    symptoms=(PAUSES_BETWEEN_STEPS, LOW_GPU_DATA_READY),
    edit_lines=1,
    needs=("Facts.callbacks",),
)
def RULE(case: Case) -> Found | None:
    run, account = case.run, case.account
    if run is None or account is None or run.steps < THRESHOLDS.min_steady_steps or not case.facts.callbacks:
        return None
    slowest = max(case.facts.callbacks, key=lambda callback: callback.ms_per_step)
    callback_ms = slowest.ms_per_step / batches_per_step(case)
    cost_ms = _cost_ms(account, callback_ms)
    if case.facts.run.synchronises is not None and cost_ms < MOSTLY_WORK * callback_ms:
        return None  # it waits for the device: FW305 is the rule for that
    share = cost_ms / account.batch_ms
    if share < THRESHOLDS.worth_saying_share or slowest.ms_per_step < THRESHOLDS.loop_floor_ms:
        return None
    stride, framework = _stride(cost_ms, slowest.every, account.batch_ms), case.facts.run.framework
    own = (framework, slowest.name) not in SETTINGS and not _is_logger(framework, slowest.name)
    edit = _edit(framework, slowest.name)
    left_ms = cost_ms * min(1.0, slowest.every / stride)
    removed_ms = cost_ms - left_ms
    # What it makes the loop do afterwards (flushes, locks, garbage) is in nobody's name.
    unclaimed_ms = max(0.0, (account.ms(OTHER) or 0.0) - sum(one.ms_per_step for one in case.facts.callbacks))
    rest_ms = account.batch_ms - removed_ms
    most_ms = removed_ms + max(0.0, unclaimed_ms - THRESHOLDS.loop_floor_ms) + COLDEST * cold_ms(rest_ms)
    because = (
        f"{ms(removed_ms)} of {ms(account.batch_ms)} per batch are gone when it runs every {count(stride, 'step')}"
    )
    return Found(
        title=f"Call {slowest.name} less often: every {stride} steps",
        says=(
            f"{slowest.name} takes {ms(cost_ms)} of the {ms(account.batch_ms)} per batch ({percent(share)}), between "
            f"the steps, while the device waits{_rhythm(slowest)}. Done every {stride} steps it costs {ms(left_ms)}."
        ),
        numbers={
            "callback_ms": cost_ms,
            "batch_ms": account.batch_ms,
            "share": share,
            "every_n_steps": float(stride),
        },
        before=edit.before,
        after=edit.after.replace("{n}", str(stride)),
        gain=removed(account, most_ms, LEAST_REMOVED * removed_ms, because),
        alters=(Alters.CODE,) if own else (),
    )


def _cost_ms(account: Account, callback_ms: float) -> float:
    """A callback that reads a value waits for the device, which works meanwhile. Lost is what the device idles."""
    idle_ms = account.ms(OTHER) if account.starved_ns is not None else None
    return min(callback_ms, account.batch_ms if idle_ms is None else idle_ms)


def _stride(cost_ms: float, every: float, batch_ms: float) -> int:
    """How rarely it has to work, if it works once in `every` steps now and costs so much per batch."""
    wanted = math.ceil(every * cost_ms / (UNNOTICED_SHARE * max(batch_ms - cost_ms, 0.1 * batch_ms)))
    return next((one for one in STRIDES if one >= wanted), STRIDES[-1])


def _rhythm(callback: CallbackTime) -> str:
    return f"; it works about every {count(round(callback.every), 'step')}" if callback.every >= RARELY else ""


def _is_logger(framework: str, name: str) -> bool:
    return framework == "lightning" and name.endswith("Logger")


def _edit(framework: str, name: str) -> Edit:
    if _is_logger(framework, name):
        return LOGGER
    if (framework, name) in SETTINGS:
        return SETTINGS[framework, name]
    index = "batch" if framework == "keras" else "batch_idx"
    arguments = "batch, logs=None" if framework == "keras" else LIGHTNING_ARGUMENTS
    head = f"def on_train_batch_end(self, {arguments}):  # {identifier(name, 'yours')}"
    return Edit(
        f"{head}\n    ...", head + "\n    if " + index + " % {n} == 0:\n        ...  # what it does now at every step"
    )
