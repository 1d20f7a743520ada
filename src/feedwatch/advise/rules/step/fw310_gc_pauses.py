"""FW310: Python's garbage collector takes a visible part of the run."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import COLDEST, cold_ms, removed
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.symptoms import IRREGULAR_STEPS, PAUSES_BETWEEN_STEPS
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, percent

# Some collections stay, and some fell into a time in which training waited anyway.
MOST_REMOVED: Final = 1.0
LEAST_REMOVED: Final = 0.85

CODE: Final = """import gc

# No gc.collect() in the training loop. Once, when data set and model are built:
gc.collect()
gc.freeze()  # what is alive now stays: the collector need not look at it again"""

PAGE: Final = """
## What it sees
A training process that spends a visible part of its time in Python's garbage collector.

## Why it costs
A full collection looks at every container object of the process, and nothing else in Python runs meanwhile. With a data
set of many Python objects in memory (lists of paths, dicts per sample) each one takes tens of milliseconds to seconds.
A `gc.collect()` in the training loop, often written to save memory, pays that price at every step; it frees only what
refers to itself in a circle, and nothing on the device.

## Fix
Take `gc.collect()` out of the loop. After data set and model are built, call `gc.freeze()`: what exists then is no
longer looked at. Keep large tables in arrays instead of Python objects. Nothing about the training changes.

## When to leave it
When the loop really makes large objects that refer to each other in circles: then collect every few hundred steps.

## References
- https://docs.python.org/3/library/gc.html#gc.freeze
"""


@rule(
    PAGE,
    knob="gc",
    relieves=Bound.HOST,
    symptoms=(PAUSES_BETWEEN_STEPS, IRREGULAR_STEPS),
    edit_lines=3,
    needs=("HostFacts.gc_share",),
)
def RULE(case: Case) -> Found | None:
    share, account = case.facts.host.gc_share, case.account
    if share is None or account is None or case.counts.measured < THRESHOLDS.min_steady_steps:
        return None
    if share < THRESHOLDS.worth_saying_share:
        return None
    lost_ms = min(1.0, share) * account.batch_ms
    because = (
        f"{percent(LEAST_REMOVED)} to {percent(MOST_REMOVED)} of the {ms(lost_ms)} per batch in the collector are gone"
    )
    return Found(
        title="Leave the garbage collector alone: no gc.collect() per step, gc.freeze() after the start",
        says=(
            f"Python's garbage collector took {percent(share)} of the time, {ms(lost_ms)} of the "
            f"{ms(account.batch_ms)} per batch, and no other Python code runs meanwhile."
        ),
        numbers={"gc_share": share, "gc_ms": lost_ms, "batch_ms": account.batch_ms},
        before="gc.collect()  # in the training loop, or a collector that looks at the whole data set again and again",
        after=CODE,
        # A collection reads all of the memory: the step behind it finds nothing of its own in the caches.
        gain=removed(
            account,
            MOST_REMOVED * lost_ms + COLDEST * cold_ms(account.batch_ms - lost_ms),
            LEAST_REMOVED * lost_ms,
            because,
        ),
        alters=(Alters.CODE,),
    )
