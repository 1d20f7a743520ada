"""FW501: one rank waits for its input, and all the others wait for that rank."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import gain
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.symptoms import ONE_SLOW_RANK
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, percent

# Ranks differ by chance. A rank that waits twice as long as the median has a cause of its own.
STANDS_OUT: Final = 2.0
# Behind the slowest rank another one may be nearly as slow: at worst half of the excess goes away. At best nobody
# waits: the others' waiting may be the slow one's fault, which takes CPUs and the disk from them.
LEAST_REMOVED: Final = 0.5

CODE: Final = """import os

if int(os.environ.get("RANK", "0")) == {rank}:
    print(os.uname().nodename, len(os.sched_getaffinity(0)), "CPUs")  # its node, its CPUs; then its disk"""

PAGE: Final = """
## What it sees
A rank that waits for its input at least twice as long as the median rank.

## Why it costs
Gradients are exchanged at every step: the slowest rank sets the pace, and the waiting of the others looks like
computing. One rank's own report cannot show that.

## Fix
Look at that rank's node: its CPU budget, its disk, who else runs there, whether its shard of the data is larger. The
findings of that rank's own report say what to change.

## When to leave it
When another rank is the slow one in every run: then it is chance, not the node.

## References
- https://pytorch.org/docs/stable/notes/ddp.html
"""


@rule(
    PAGE,
    knob="slow_rank",
    relieves=Bound.INPUT,
    symptoms=(ONE_SLOW_RANK,),
    edit_lines=30,
    needs=(),
)
def RULE(case: Case) -> Found | None:
    ranks = case.ranks
    if ranks is None or ranks.count < 2 or ranks.slowest is None or ranks.median_input_wait_ms is None:
        return None
    slowest, median_ms = ranks.slowest, ranks.median_input_wait_ms
    if slowest.input_wait_ms is None or not slowest.step_ms:
        return None
    step_ms = slowest.step_ms
    excess_ms = min(step_ms, slowest.input_wait_ms - median_ms)
    share = excess_ms / step_ms
    if slowest.input_wait_ms < STANDS_OUT * median_ms or share < THRESHOLDS.worth_saying_share:
        return None
    most_ms = min(step_ms, slowest.input_wait_ms)
    because = f"up to {ms(most_ms)} per step on every rank are gone when rank {slowest.rank} keeps up"
    return Found(
        title=f"Look at the input of rank {slowest.rank}: all ranks wait for it",
        says=(
            f"Rank {slowest.rank} waits {ms(slowest.input_wait_ms)} per step for its input, the median of "
            f"{ranks.count} ranks {ms(median_ms)}. The others meet it in the all-reduce and wait for it, which they "
            f"see as computing: {percent(share)} of everybody's step."
        ),
        numbers={
            "rank": float(slowest.rank),
            "input_wait_ms": slowest.input_wait_ms,
            "median_input_wait_ms": median_ms,
            "step_ms": step_ms,
            "ranks": float(ranks.count),
        },
        before=f"# all ranks wait for rank {slowest.rank}",
        after=CODE.format(rank=slowest.rank),
        gain=gain(step_ms, step_ms - most_ms, step_ms - LEAST_REMOVED * excess_ms, because),
        alters=(Alters.CODE,),
    )
