"""FW307: launching the step takes longer than computing it."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.questions.copies import idle_look
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.symptoms import GPU_NO_FASTER, LOW_GPU_DATA_READY
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, percent

# A framework needs a few milliseconds per step on the host. In a shorter step the device makes no difference.
SHORT_STEP_MS: Final = 5.0
MOSTLY_IDLE: Final = 0.8
LARGER: Final = 8
# A batch eight times as large needs the same launches, but the host still has some work for every sample.
MOST_REMOVED: Final = 0.8
LEAST_REMOVED: Final = 0.6

PAGE: Final = """
## What it sees
Steps of a few milliseconds in which the device idles four fifths of the time although its batch is there.

## Why it costs
Every step costs the host some milliseconds for launching, whatever the size of the batch. A small model on a small
batch is done before the next kernel is there.

## Fix
Use a larger batch (and adapt the learning rate), run several steps per call (`steps_per_execution`), or train on the
CPU, which needs no launches and no copies.

## When to leave it
When the batch size is part of the experiment.

## References
- https://keras.io/api/models/model_training_apis/
"""


@rule(
    PAGE,
    knob="batch_size",
    relieves=Bound.LAUNCH,
    symptoms=(GPU_NO_FASTER, LOW_GPU_DATA_READY),
    edit_lines=1,
    needs=("RunFacts.batch_size",),
)
def RULE(case: Case) -> Found | None:
    look, run, batch_size = idle_look(case), case.run, case.facts.run.batch_size
    if look is None or run is None or batch_size is None or look.idle_share < MOSTLY_IDLE:
        return None
    step_ms = run.wall_ns / max(1, run.steps) / 1e6
    if step_ms > SHORT_STEP_MS:
        return None
    because = f"an estimate, per sample: {LARGER} times as many samples for the same launches"
    return Found(
        title=f"Use a larger batch than {batch_size}, or train on the CPU",
        says=(
            f"Of a {ms(step_ms)} step the device computes {ms((1 - look.idle_share) * step_ms)} and idles "
            f"{percent(look.idle_share)}: the model with a batch of {batch_size} is less work than launching it. A "
            f"batch of {LARGER * batch_size} costs hardly more; a CPU may be as fast."
        ),
        numbers={
            "step_ms": step_ms,
            "idle_share": look.idle_share,
            "batch_size": float(batch_size),
            "batch_size_advised": float(LARGER * batch_size),
        },
        before=f"batch_size = {batch_size}",
        after=f"batch_size = {LARGER * batch_size}",
        gain=removed(look.account, MOST_REMOVED * look.idle_ms, LEAST_REMOVED * look.idle_ms, because),
        alters=(Alters.UPDATES,),
    )
