"""Most of the waiting is at the start of every epoch, for work that is the same in each."""

from feedwatch.advise.case import Case
from feedwatch.advise.questions.cached import cached
from feedwatch.advise.questions.tf_data import cache_change, start_s, started_slowly, tf_look
from feedwatch.advise.rule import Found, rule
from feedwatch.advise.snippets import place
from feedwatch.advise.symptoms import LONG_EPOCHS, PAUSE_PER_EPOCH
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, seconds

PAGE = """
## What it sees
Epochs that begin with a long wait for their first batch, in a pipeline that does the same work in every epoch and
whose result fits into memory.

## Why it costs
A shuffle gives out its first element when its buffer is full, and a pipeline without a cache fills it with freshly
made elements every time. Nothing overlaps with that: the training waits.

## Fix
`.cache()` behind the last stage that is the same in every epoch, and the shuffle behind the cache. The first epoch is
as slow as before, all others start at once.

## When to leave it
When the data do not fit into memory (`.cache(filename)` keeps them on a disk), or when the work before the cache is
meant to be random.

## References
- https://www.tensorflow.org/guide/data_performance#caching
- https://www.tensorflow.org/api_docs/python/tf/data/Dataset#cache
"""


@rule(
    PAGE,
    knob="cache",
    relieves=Bound.INPUT,
    symptoms=(
        PAUSE_PER_EPOCH,
        LONG_EPOCHS,
    ),
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "HostFacts.ram_available_gb", "PipelineFacts.tf_data"),
)
def RULE(case: Case) -> Found | None:
    look = tf_look(case)
    change = None if look is None else cache_change(look)
    if look is None or change is None or not started_slowly(look):
        return None
    return cached(
        look,
        change,
        title=f"Pay for {place(change.last)} once, not at every epoch start: .cache()",
        says=(
            f"Every epoch begins with {seconds(start_s(look))} of waiting for its first batch, and does "
            f"{ms(change.same_ms)} of the same work per batch again, up to {place(change.last)}."
        ),
    )
