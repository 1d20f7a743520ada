"""FW501: one rank waits for its input, and all the others wait for that rank."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.step_model import removed_gain
from feedwatch.advise.symptoms import ONE_SLOW_RANK
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import ms, number, percent

# Ranks differ by chance. A rank that waits twice as long as the median has a cause of its own.
STANDS_OUT: Final = 2.0
# Behind the slowest rank another one may be nearly as slow: at worst half of the excess goes away.
LEAST_REMOVED: Final = 0.5


def check(case: Case) -> Evidence | None:
    ranks = case.ranks
    if ranks is None or ranks.count < 2 or ranks.slowest is None or ranks.median_input_wait_ms is None:
        return None
    slowest, median_ms = ranks.slowest, ranks.median_input_wait_ms
    if slowest.input_wait_ms is None or not slowest.step_ms:
        return None
    excess_ms = slowest.input_wait_ms - median_ms
    share = excess_ms / slowest.step_ms
    if slowest.input_wait_ms < STANDS_OUT * median_ms or share < THRESHOLDS.worth_saying_share:
        return None
    return Evidence(
        says=(
            f"Rank {slowest.rank} waits {ms(slowest.input_wait_ms)} per step for its input, the median of "
            f"{ranks.count} ranks {ms(median_ms)}. The others meet it in the all-reduce and wait for it, which they "
            f"see as computing: {percent(min(1.0, share))} of everybody's step."
        ),
        numbers={
            "rank": float(slowest.rank),
            "input_wait_ms": slowest.input_wait_ms,
            "median_input_wait_ms": median_ms,
            "step_ms": slowest.step_ms,
            "ranks": float(ranks.count),
        },
        blanks={"rank": str(slowest.rank)},
    )


def predict(_case: Case, evidence: Evidence) -> Gain | None:
    numbers = evidence.numbers
    most_ms = min(numbers["step_ms"], numbers["input_wait_ms"] - numbers["median_input_wait_ms"])
    because = f"up to {ms(most_ms)} per step on every rank are gone when rank {number(numbers['rank'])} keeps up"
    return removed_gain(numbers["step_ms"], (most_ms, LEAST_REMOVED * most_ms), because)


RULE: Final = Rule(
    code="FW501",
    name="straggling-rank",
    title="Look at the input of rank $rank: all ranks wait for it",
    before="# all ranks wait for rank $rank",
    after="""import os

if int(os.environ.get("RANK", "0")) == $rank:
    print(os.uname().nodename, len(os.sched_getaffinity(0)), "CPUs")  # its node, its CPUs; then its disk""",
    page=Page(
        sees="A rank that waits for its input at least twice as long as the median rank.",
        why=(
            "Gradients are exchanged at every step: the slowest rank sets the pace, and the waiting of "
            "the others looks like computing. One rank's own report cannot show that."
        ),
        fix=(
            "Look at that rank's node: its CPU budget, its disk, who else runs there, whether its shard "
            "of the data is larger. The findings of that rank's own report say what to change."
        ),
        leave="When another rank is the slow one in every run: then it is chance, not the node.",
        references=("https://pytorch.org/docs/stable/notes/ddp.html",),
    ),
    symptoms=(ONE_SLOW_RANK,),
    relieves=Bound.INPUT,
    edit_lines=30,
    needs=(),
    check=check,
    predict=predict,
)
