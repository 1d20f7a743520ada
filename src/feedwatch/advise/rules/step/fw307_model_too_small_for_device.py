"""FW307: launching the step takes longer than computing it."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.copies import idle_look
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.step_model import removed_gain
from feedwatch.advise.symptoms import GPU_NO_FASTER, LOW_GPU_DATA_READY
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import ms, percent, times

# A framework needs a few milliseconds per step on the host. In a shorter step the device makes no difference.
SHORT_STEP_MS: Final = 5.0
MOSTLY_IDLE: Final = 0.8
LARGER: Final = 8
# A batch eight times as large needs the same launches, but the host still has some work for every sample.
LEAST_REMOVED: Final = 0.5


def check(case: Case) -> Evidence | None:
    look, batch_size = idle_look(case), case.facts.run.batch_size
    if look is None or look.step_ms > SHORT_STEP_MS or look.idle_share < MOSTLY_IDLE or batch_size is None:
        return None
    busy_ms = (1 - look.idle_share) * look.step_ms
    return Evidence(
        says=(
            f"Of a {ms(look.step_ms)} step the device computes {ms(busy_ms)} and idles "
            f"{percent(look.idle_share)}: the "
            f"model with a batch of {batch_size} is less work than launching it. A batch of {LARGER * batch_size} "
            "costs hardly more; a CPU may be as fast."
        ),
        numbers={
            "step_ms": look.step_ms,
            "idle_share": look.idle_share,
            "batch_size": float(batch_size),
            "batch_size_advised": float(LARGER * batch_size),
        },
        blanks={"batch_size": str(batch_size), "larger": str(LARGER * batch_size)},
    )


def predict(_case: Case, evidence: Evidence) -> Gain | None:
    step_ms, idle_share = evidence.numbers["step_ms"], evidence.numbers["idle_share"]
    most_ms = idle_share * step_ms * (1 - 1 / LARGER)
    because = f"per sample: {times(LARGER)} as many samples for the same launches"
    return removed_gain(step_ms, (most_ms, LEAST_REMOVED * most_ms), because)


RULE: Final = Rule(
    code="FW307",
    name="model-too-small-for-device",
    title="Use a larger batch than $batch_size, or train on the CPU",
    before="batch_size = $batch_size",
    after="batch_size = $larger",
    page=Page(
        sees=(
            "Steps of a few milliseconds in which the device idles four fifths of the time although its batch is there."
        ),
        why=(
            "Every step costs the host some milliseconds for launching, whatever the size of the batch. "
            "A small model on a small batch is done before the next kernel is there."
        ),
        fix=(
            "Use a larger batch (and adapt the learning rate), run several steps per call "
            "(`steps_per_execution`), or train on the CPU, which needs no launches and no copies."
        ),
        leave="When the batch size is part of the experiment.",
        references=("https://keras.io/api/models/model_training_apis/",),
    ),
    symptoms=(GPU_NO_FASTER, LOW_GPU_DATA_READY),
    relieves=Bound.LAUNCH,
    edit_lines=1,
    needs=("Facts.transfers", "RunFacts.batch_size"),
    check=check,
    predict=predict,
)
