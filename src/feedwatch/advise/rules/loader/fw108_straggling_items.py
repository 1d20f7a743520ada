"""FW108: a few items take very much longer than the others, and every batch waits for its slowest."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.cpu import crowded
from feedwatch.advise.questions.loader import load_ms, starved_loader
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import loader_call
from feedwatch.advise.step_model import HANDOVER_BEST_MS, serial_gain
from feedwatch.advise.symptoms import IRREGULAR_STEPS
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import ms, times

# Ordinary images differ by a factor of three or four. A factor of ten is another kind of item.
STRAGGLER_RATIO: Final = 10.0
# One item in a hundred is that slow. Without these items their share of the load is gone. A deeper queue gives less.
STRAGGLER_SHARE: Final = 0.01

# A worker that hardly ever waited for a core was slow for another reason.
MOST_CORE_WAIT: Final = 0.05


def check(case: Case) -> Evidence | None:
    look = starved_loader(case)
    if look is None or look.loader.item_ms is None or look.loader.item_p99_ms is None:
        return None
    loader, load = look.loader, load_ms(look)
    item, slow = look.loader.item_ms, look.loader.item_p99_ms
    if load is None or not loader.batch_size or item <= 0 or slow / item < STRAGGLER_RATIO:
        return None
    # Where cores are short, a slow item may only have waited for a core.
    if loader.core_wait_share is None or loader.core_wait_share > MOST_CORE_WAIT or crowded(case):
        return None
    # A slow item that is still short compared with the step delays nothing.
    if slow < look.times.rest_ms / 2:
        return None
    extra_ms = min(load, loader.batch_size * STRAGGLER_SHARE * (slow - item))
    depth = 2 * (loader.prefetch_factor or 2)
    changes = {"num_workers": max(1, loader.num_workers), "prefetch_factor": depth, "in_order": False}
    return Evidence(
        says=(
            f"The usual item takes {ms(item)}, one in a hundred {ms(slow)} ({times(slow / item)}): a batch of "
            f"{loader.batch_size} waits for its slowest item, and the batches behind it wait too."
        ),
        numbers={
            "item_ms": item,
            "item_p99_ms": slow,
            "straggler_ms_per_batch": extra_ms,
            "load_ms": load,
            "workers": float(loader.num_workers),
            "rest_ms": look.times.rest_ms,
        },
        blanks={"before": loader_call(loader), "after": loader_call(loader, changes)},
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    look = starved_loader(case)
    if look is None:
        return None
    extra_ms, lanes = evidence.numbers["straggler_ms_per_batch"], max(1.0, evidence.numbers["workers"])
    least_ms = min(look.times.wait_ms, extra_ms / lanes)
    because = (
        f"the slow items add {ms(extra_ms)} to the load of a batch on average, and stall up to "
        f"{ms(look.times.wait_ms)} per step by holding up the batches behind them"
    )
    return serial_gain(look.times, (HANDOVER_BEST_MS, look.times.wait_ms - least_ms / 2), because)


RULE: Final = Rule(
    code="FW108",
    name="straggling-items",
    title="Take the slow items out of the way",
    before="$before",
    after="$after",
    page=Page(
        sees=(
            "Items of which one in a hundred takes at least ten times as long as the usual one, in a run that waits."
        ),
        why=(
            "A worker makes a batch item by item, and batches are handed over in order: one slow item "
            "delays its batch, and finished batches of the other workers queue up behind it."
        ),
        fix=(
            "Find the slow items (very large images, long texts, files on another disk) and prepare "
            "them once, offline; or put items of similar cost together; or let faster batches overtake: "
            "`in_order=False` (torch 2.6 and later) and a deeper `prefetch_factor`."
        ),
        leave="When the order of the batches must be reproducible and the slow items cannot be prepared.",
        references=(
            "https://pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader",
            "https://github.com/pytorch/pytorch/issues/19836",
        ),
    ),
    symptoms=(IRREGULAR_STEPS,),
    relieves=Bound.INPUT,
    edit_lines=10,
    needs=(
        "LoaderFacts.batch_size",
        "LoaderFacts.core_wait_share",
        "LoaderFacts.item_ms",
        "LoaderFacts.item_p99_ms",
        "LoaderFacts.load_ms",
    ),
    check=check,
    predict=predict,
)
