"""Putting the items together takes longer than making them."""

from dataclasses import replace
from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.plan import Plan
from feedwatch.advise.questions.loader import LoaderLook, loader_look
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import identifier
from feedwatch.advise.symptoms import GPU_NO_FASTER, ONE_BUSY_CPU
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, percent

PAGE = """
## What it sees
A custom `collate_fn` that takes the larger part of the time in which a batch is made.

## Why it costs
`collate_fn` runs once per batch, in the worker, after all items are there. A loop over values in Python, padding by
concatenation or a conversion to lists easily costs more than reading the data.

## Fix
Allocate the result once and fill it, or stack whole tensors; do work that belongs to one item in `__getitem__`; drop
the custom collate when the default does the same.

## When to leave it
When the structure of a batch really needs it and every vectorised form was tried.

## References
- https://pytorch.org/docs/stable/data.html#working-with-collate-fn
"""

LARGER_PART: Final = 0.5
# A library's own collate of cheap items is not what a batch waits for.
LEAST_COLLATE_MS: Final = 1.0
# A collate that works on whole tensors costs a copy of the batch. One that is only tidied up keeps a fifth.
BEST_REMOVED: Final = 0.98
WORST_REMOVED: Final = 0.8


@rule(
    PAGE,
    knob="collate",
    relieves=Bound.INPUT,
    symptoms=(
        ONE_BUSY_CPU,
        GPU_NO_FASTER,
    ),
    edit_lines=8,
    needs=("HostFacts.cpu_budget", "LoaderFacts.collate_ms", "LoaderFacts.custom_collate"),
)
def RULE(case: Case) -> Found | None:
    look = loader_look(case)
    if look is None or look.loader.custom_collate is None or look.loader.collate_ms is None:
        return None
    collate_ms = min(look.loader.collate_ms, look.load_ms)
    share = collate_ms / look.load_ms
    if share < LARGER_PART or collate_ms < LEAST_COLLATE_MS:
        return None
    best, worst = (_tidied(look, share * removed_share) for removed_share in (BEST_REMOVED, WORST_REMOVED))
    name = identifier(look.loader.custom_collate, "collate")
    return Found(
        title=f"Make {name} work on whole tensors",
        says=(
            f"{look.loader.custom_collate} takes {ms(collate_ms)} of the {ms(look.load_ms)} that a batch needs "
            f"({percent(share)}): putting the items together is more work than making them."
        ),
        numbers=look.numbers | {"collate_ms": collate_ms, "collate_share": share},
        before=f"def {name}(items):\n    ...  # a Python loop over the values of every item",
        after=f"""def {name}(items):
    # Whole tensors instead of a Python loop over values; rows of different lengths are padded with zeros.
    def together(values):
        if torch.is_tensor(values[0]) and len({{value.shape for value in values}}) > 1:
            return torch.nn.utils.rnn.pad_sequence(list(values), batch_first=True)
        return torch.utils.data.default_collate(list(values))

    if isinstance(items[0], dict):
        return {{key: together([item[key] for item in items]) for key in items[0]}}
    return [together(values) for values in zip(*items)]""",
        gain=look.supply.gain(
            best,
            f"with {percent(WORST_REMOVED)} to {percent(BEST_REMOVED)} of the {ms(collate_ms)} gone",
            worst=worst,
        ),
        alters=(Alters.CODE,),
    )


def _tidied(look: LoaderLook, gone: float) -> Plan:
    return look.plan.with_loading(lambda work: replace(work, cpu_ms=work.cpu_ms * (1 - gone)))
