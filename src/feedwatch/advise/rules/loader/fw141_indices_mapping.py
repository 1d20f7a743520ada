"""Rows of a Hugging Face data set are read one by one through a shuffled index."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.loader import loader_look
from feedwatch.advise.rule import Found, rule
from feedwatch.advise.symptoms import ONE_BUSY_CPU
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, percent

PAGE = """
## What it sees
A Hugging Face data set with an indices mapping (it was shuffled, selected from or filtered) that the run waits for.

## Why it costs
The rows stay where they were; a table says which one is meant. Every item is then a look-up and a read at another
place of the file, instead of rows that follow one another.

## Fix
`dataset.flatten_indices()` writes the rows in their new order once. For training that shuffles every epoch,
`dataset.to_iterable_dataset(num_shards=...)` with a shuffle buffer reads from front to back.

## When to leave it
When there is no room on the disk for a second copy of the data.

## References
- https://huggingface.co/docs/datasets/about_mapstyle_vs_iterable#speed-differences
"""

BEST_LEFT: Final = 0.3
WORST_LEFT: Final = 0.85


@rule(
    PAGE,
    knob="items",
    relieves=Bound.INPUT,
    symptoms=(ONE_BUSY_CPU,),
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "LoaderFacts.indices_mapping"),
)
def RULE(case: Case) -> Found | None:
    look = loader_look(case)
    if look is None or look.loader.indices_mapping is not True:
        return None
    best, worst = (look.plan.with_less(cpu=left, wait=left) for left in (BEST_LEFT, WORST_LEFT))
    return Found(
        title="Write the shuffled rows in their new order once: flatten_indices()",
        says=(
            f"The data set reads every row through a table of indices (after shuffle, select or filter): "
            f"{ms(look.load_ms)} per batch; the step takes {ms(look.plan.step_ms)}."
            f"{_format(look.loader.dataset_format)}"
        ),
        numbers=look.numbers,
        before="dataset = dataset.shuffle(seed=seed)",
        after="dataset = dataset.flatten_indices()  # once, after shuffle, select or filter",
        gain=look.supply.gain(
            best,
            f"an estimate: rows that lie one after the other take {percent(BEST_LEFT)} to {percent(WORST_LEFT)} of "
            "the time",
            worst=worst,
        ),
    )


def _format(kind: str | None) -> str:
    """Worth a sentence, but no change by itself: what reads the rows may want Python objects."""
    if kind != "python":
        return ""
    return ' Its format is "python", which makes an object of every value; with_format("torch") makes tensors.'
