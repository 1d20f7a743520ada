"""FW305: something reads a device value at every step, and host and device take turns."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.questions.copies import idle_share
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.symptoms import LOW_GPU_DATA_READY
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, percent

# Without the read the host runs ahead. How much of the idle time goes away depends on the step's own overhead.
MOST_REMOVED: Final = 0.9
LEAST_REMOVED: Final = 0.3
EVERY_N_STEPS: Final = 50

PAGE: Final = """
## What it sees
A read of a device value at every step (`.item()`, `.cpu()`, a progress bar that prints the loss), on a device that
idles.

## Why it costs
The host normally runs ahead and queues work. A read makes it wait until the device has finished everything; then the
device waits until the host has queued the next step.

## Fix
Keep the value as a tensor and read it every N steps, or at the end of the epoch. In Lightning, `self.log` without
`prog_bar=True` does not read.

## When to leave it
When a value decides about the next step.

## References
- https://pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization
- https://github.com/Lightning-AI/pytorch-lightning/issues/21487
"""


@rule(
    PAGE,
    knob="reads",
    relieves=Bound.LAUNCH,
    symptoms=(LOW_GPU_DATA_READY,),
    edit_lines=1,
    needs=("RunFacts.synchronises",),
)
def RULE(case: Case) -> Found | None:
    run, account, reader = case.run, case.account, case.facts.run.synchronises
    if run is None or account is None or reader is None or run.steps < THRESHOLDS.min_steady_steps:
        return None
    idle = None if case.facts.run.device_kind == "cpu" else idle_share(case, run)
    if idle is None or idle < THRESHOLDS.worth_saying_share:
        return None
    idle_ms = idle * run.wall_ns / max(1, run.batches) / 1e6
    most_ms, least_ms = MOST_REMOVED * idle_ms, LEAST_REMOVED * idle_ms
    because = f"{ms(least_ms)} to {ms(most_ms)} of the {ms(idle_ms)} per batch in which the device waits for the host"
    return Found(
        title=f"Read device values every {EVERY_N_STEPS} steps, not at every step ({reader})",
        says=(
            f"{reader} reads a value from the device at every step: the host waits for all queued work, then the "
            f"device waits for the host. It idles {percent(idle)} of the time although its batch is there, "
            f"{ms(idle_ms)} of the {ms(account.batch_ms)} per batch."
        ),
        numbers={
            "idle_share": idle,
            "idle_ms": idle_ms,
            "batch_ms": account.batch_ms,
            "every_n_steps": float(EVERY_N_STEPS),
        },
        before=f"log(loss.item())  # {reader}",
        after=f"if step % {EVERY_N_STEPS} == 0:\n    log(loss.item())  # {reader}",
        gain=removed(account, most_ms, least_ms, because),
        alters=(Alters.CODE,),
    )
