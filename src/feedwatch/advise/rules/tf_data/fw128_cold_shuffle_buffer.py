"""The wait at the start of every epoch is a shuffle buffer that is filled with dear elements."""

from dataclasses import replace

from feedwatch.advise.case import Case
from feedwatch.advise.questions.tf_data import tf_look
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import comment
from feedwatch.advise.symptoms import PAUSE_PER_EPOCH, SLOW_START
from feedwatch.model.verdict import Bound
from feedwatch.words import percent, seconds

PAGE = """
## What it sees
A stall at the start of every epoch in a pipeline that shuffles elements which are expensive to make.

## Why it costs
`shuffle(n)` gives out its first element only when n elements are there. Behind a decode or an augmentation, that is n
times the work, at the start of every epoch, while the device waits.

## Fix
Move `shuffle` before the heavy map, where elements are file names or numbers and a buffer as large as the data set
costs nothing. Or make the buffer smaller and shuffle the names of the files as well.

## When to leave it
When the pause is short against the epoch and the data really need to be mixed after the map.

## References
- https://www.tensorflow.org/api_docs/python/tf/data/Dataset#shuffle
"""


@rule(
    PAGE,
    knob="shuffle",
    relieves=Bound.INPUT,
    symptoms=(
        PAUSE_PER_EPOCH,
        SLOW_START,
    ),
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "TfDataFacts.elements_per_batch", "TfStage.buffer_size"),
)
def RULE(case: Case) -> Found | None:
    look = tf_look(case)
    if look is None or look.plan.cold <= 0 or not look.data.elements_per_batch:
        return None
    stage = next((one for one in look.data.stages if one.op.startswith("Shuffle")), None)
    if stage is None or not stage.buffer_size or stage.buffer_size < 0:
        return None
    # The work does not go away: it moves from the epoch's start into the steps, where it overlaps with training.
    plan = replace(look.plan, cold=0.0)
    filled_ms = (
        look.plan.cold * (look.supply.account.epoch_batches or 0.0) * look.plan.threads_ms(look.plan.last_threads)
    )
    return Found(
        title=f"Shuffle before the dear work, not {stage.buffer_size} finished elements",
        says=(
            f"shuffle({stage.buffer_size}) gives out its first element when its buffer is full: "
            f"{percent(look.plan.cold)} of an epoch's elements are made while training waits"
            + (f", about {seconds(filled_ms / 1000)}." if filled_ms > 0 else ".")
        ),
        numbers=look.numbers | {"buffer_size": float(stage.buffer_size), "cold_share": look.plan.cold},
        before=f"dataset = dataset.map(function).shuffle({stage.buffer_size}){comment(stage)}",
        after=f"dataset = dataset.shuffle({stage.buffer_size}).map(function)  # names or numbers are shuffled for free",
        gain=look.supply.gain(plan, "the work is spread over the steps and overlaps with them"),
        alters=(Alters.ORDER, Alters.CODE),
    )
