"""FW202: a custom transfer makes the host wait for every copy."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.copies import CopyLook, exposed_copies, hidden_gaps_ms, shorter_step
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import identifier
from feedwatch.advise.symptoms import VISIBLE_COPIES
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.steps import OTHER
from feedwatch.model.verdict import Bound, Gain
from feedwatch.words import ms, percent, times

PAGE: Final = """
## What it sees
A custom transfer hook that copies pinned batches without `non_blocking`, with copies that cost a visible part of the
run.

## Why it costs
A blocking copy makes the host wait until the data are on the device. It cannot launch the kernels of the step
meanwhile, so the device idles after the copy, too.

## Fix
Pass `non_blocking=True` to `.to()`. It takes effect only from pinned memory, and the order on the stream keeps the
result correct.

## When to leave it
When the host changes the batch in place right after the copy.

## References
- https://pytorch.org/tutorials/intermediate/pinmem_nonblock.html
- https://github.com/pytorch/pytorch/issues/48065
"""


@rule(
    PAGE,
    knob="non_blocking",
    relieves=Bound.TRANSFER,
    symptoms=(VISIBLE_COPIES,),
    edit_lines=1,
    needs=("BatchFacts.custom_transfer", "BatchFacts.non_blocking", "BatchFacts.pinned"),
)
def RULE(case: Case) -> Found | None:
    look, batch = exposed_copies(case), case.facts.batch
    if look is None or batch is None or batch.custom_transfer is None or batch.non_blocking is not False:
        return None
    # From pageable memory a copy blocks whatever the argument says.
    if batch.pinned is not True:
        return None
    hook = identifier(batch.custom_transfer, "transfer_batch_to_device")
    gain = _gain(case, look)
    if gain is None:
        return None
    promised = gain if gain.low >= THRESHOLDS.least_gain else None
    # So small a gain is no promise, but the change is one word: it is told without one.
    hope = "" if promised is not None else f" At best, training gets {times(gain.high)} as fast."
    return Found(
        title=f"Do not wait for the copies in {hook}: non_blocking=True",
        says=(
            f"{batch.custom_transfer} copies without non_blocking: the host waits for each of the copies, "
            f"{ms(look.exposed_ms)} of the {ms(look.batch_ms)} per batch ({percent(look.share)}).{hope}"
        ),
        numbers={"exposed_ms": look.exposed_ms, "batch_ms": look.batch_ms, "exposed_share": look.share},
        before=f"value = value.to(device)  # in {hook}",
        after=f"value = value.to(device, non_blocking=True)  # in {hook}: for every tensor of the batch",
        gain=promised,
        alters=(Alters.CODE,),
    )


def _gain(case: Case, look: CopyLook) -> Gain | None:
    """The copy still takes its time on the stream that computes. What goes is the time in which the device waits for
    a host that the copy held up: for no longer than it did.
    """
    gaps_ms = hidden_gaps_ms(case, look.account)
    least_ms = min(look.exposed_ms, gaps_ms)
    # Some of the gaps are in the spans of copy and compute, where nobody sees them.
    most_ms = look.exposed_ms + (look.account.ms(OTHER) or 0.0)
    because = f"the host goes on while {ms(look.exposed_ms)} per batch are copied: the device waits for it no longer"
    return shorter_step(case, look.account, most_ms, least_ms, because, host_freed_ms=look.exposed_ms)
