"""A few items take very much longer than the others, and every batch waits for its slowest."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.questions.loader import DEFAULT_PREFETCH, loader_look
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import loader_edit
from feedwatch.advise.symptoms import IRREGULAR_STEPS
from feedwatch.model.steps import INPUT_WAIT
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, times

PAGE = """
## What it sees
Items of which one in a hundred takes at least ten times as long as the usual one, in a run that waits.

## Why it costs
A worker makes a batch item by item, and batches are handed over in order: one slow item delays its batch, and
finished batches of the other workers queue up behind it.

## Fix
Find the slow items (very large images, long texts, files on another disk) and prepare them once, offline; or put
items of similar cost together; or let faster batches overtake: `in_order=False` (torch 2.6 and later) and a deeper
`prefetch_factor`.

## When to leave it
When the order of the batches must be reproducible and the slow items cannot be prepared.

## References
- https://pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
- https://github.com/pytorch/pytorch/issues/19836
"""

# Ordinary images differ by a factor of three or four. A factor of ten is another kind of item.
STRAGGLER_RATIO: Final = 10.0
# One item in a hundred is that slow.
STRAGGLER_SHARE: Final = 0.01
# A worker that hardly ever waited for a CPU was slow for another reason.
MOST_CORE_WAIT: Final = 0.05


@rule(
    PAGE,
    knob="stragglers",
    relieves=Bound.INPUT,
    symptoms=(IRREGULAR_STEPS,),
    edit_lines=10,
    needs=(
        "HostFacts.cpu_budget",
        "LoaderFacts.batch_size",
        "LoaderFacts.core_wait_share",
        "LoaderFacts.item_ms",
        "LoaderFacts.item_p99_ms",
        "LoaderFacts.load_ms",
    ),
)
def RULE(case: Case) -> Found | None:
    look = loader_look(case)
    if look is None or look.loader.item_ms is None or look.loader.item_p99_ms is None:
        return None
    loader, item, slow, size = look.loader, look.loader.item_ms, look.loader.item_p99_ms, look.loader.batch_size
    wait_ms = look.supply.account.ms(INPUT_WAIT) or 0.0
    if not size or item <= 0 or slow / item < STRAGGLER_RATIO or loader.num_workers < 1:
        return None
    # Where CPUs are short, a slow item may only have waited for one.
    if loader.core_wait_share is None or loader.core_wait_share > MOST_CORE_WAIT or slow < look.plan.step_ms / 2:
        return None
    extra_ms = min(look.load_ms, size * STRAGGLER_SHARE * (slow - item))
    depth = 2 * (loader.prefetch_factor or DEFAULT_PREFETCH)
    before, after = loader_edit(loader, {"prefetch_factor": depth, "in_order": False})
    return Found(
        title="Take the slow items out of the way",
        says=(
            f"The usual item takes {ms(item)}, one in a hundred {ms(slow)} ({times(slow / item)}): a batch of "
            f"{size} waits for its slowest item, and the batches behind it wait too."
        ),
        numbers=look.numbers | {"item_ms": item, "item_p99_ms": slow, "straggler_ms_per_batch": extra_ms},
        before=before,
        after=after,
        gain=removed(
            look.supply.account,
            wait_ms * 0.95,
            min(wait_ms, extra_ms / loader.num_workers) / 2,
            f"the slow items add {ms(extra_ms)} to the load of a batch on average, and hold up the batches behind them",
        ),
        alters=(Alters.ORDER,),
    )
