"""FW202: a custom transfer makes the host wait for every copy."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.questions.copies import exposed_copies
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import identifier
from feedwatch.advise.symptoms import VISIBLE_COPIES
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, percent

# The host no longer waits, but the copy still takes its time on the stream that computes.
MOST_REMOVED: Final = 0.9
LEAST_REMOVED: Final = 0.3

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
    needs=("BatchFacts.custom_transfer", "BatchFacts.non_blocking", "BatchFacts.pinned", "Facts.transfers"),
)
def RULE(case: Case) -> Found | None:
    look, batch = exposed_copies(case), case.facts.batch
    if look is None or batch is None or batch.custom_transfer is None or batch.non_blocking is not False:
        return None
    # From pageable memory a copy blocks whatever the argument says.
    if batch.pinned is not True:
        return None
    hook = identifier(batch.custom_transfer, "transfer_batch_to_device")
    most_ms, least_ms = MOST_REMOVED * look.exposed_ms, LEAST_REMOVED * look.exposed_ms
    because = f"{ms(least_ms)} to {ms(most_ms)} of copies per batch run while the host goes on"
    return Found(
        title=f"Do not wait for the copies in {hook}: non_blocking=True",
        says=(
            f"{batch.custom_transfer} copies without non_blocking: the host waits for each of the copies, "
            f"{ms(look.exposed_ms)} of the {ms(look.batch_ms)} per batch ({percent(look.share)})."
        ),
        numbers={"exposed_ms": look.exposed_ms, "batch_ms": look.batch_ms, "exposed_share": look.share},
        before=f"value = value.to(device)  # in {hook}",
        after=f"value = value.to(device, non_blocking=True)  # in {hook}: for every tensor of the batch",
        gain=removed(look.account, most_ms, least_ms, because),
        alters=(Alters.CODE,),
    )
