"""FW202: a custom transfer makes the host wait for every copy."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.copies import exposed_copies
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import identifier
from feedwatch.advise.step_model import removed_gain
from feedwatch.advise.symptoms import VISIBLE_COPIES
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import ms, percent

# The host no longer waits, but the copy still takes its time on the stream. At worst a fifth of it is won back.
LEAST_REMOVED: Final = 0.2


def check(case: Case) -> Evidence | None:
    look, batch = exposed_copies(case), case.facts.batch
    if look is None or batch is None or batch.custom_transfer is None or batch.non_blocking is not False:
        return None
    # From pageable memory a copy blocks whatever the argument says.
    if batch.pinned is not True:
        return None
    return Evidence(
        says=(
            f"{batch.custom_transfer} copies without non_blocking: the host waits for each of the copies, "
            f"{ms(look.exposed_ms)} of every {ms(look.step_ms)} step ({percent(look.share)})."
        ),
        numbers={"exposed_ms": look.exposed_ms, "step_ms": look.step_ms, "exposed_share": look.share},
        blanks={"hook": identifier(batch.custom_transfer, "transfer_batch_to_device")},
    )


def predict(_case: Case, evidence: Evidence) -> Gain | None:
    exposed_ms = evidence.numbers["exposed_ms"]
    because = f"up to {ms(exposed_ms)} of copies per step run while the host goes on"
    return removed_gain(evidence.numbers["step_ms"], (exposed_ms, LEAST_REMOVED * exposed_ms), because)


RULE: Final = Rule(
    code="FW202",
    name="blocking-copies",
    title="Do not wait for the copies in $hook: non_blocking=True",
    before="batch = tuple(value.to(device) for value in batch)  # in $hook",
    after="batch = tuple(value.to(device, non_blocking=True) for value in batch)  # in $hook",
    page=Page(
        sees=(
            "A custom transfer hook that copies pinned batches without `non_blocking`, with copies that "
            "cost a visible part of the step."
        ),
        why=(
            "A blocking copy makes the host wait until the data are on the device. It cannot launch the "
            "kernels of the step meanwhile, so the device idles after the copy, too."
        ),
        fix=(
            "Pass `non_blocking=True` to `.to()`. It takes effect only from pinned memory, and the "
            "order on the stream keeps the result correct."
        ),
        leave="When the host changes the batch in place right after the copy.",
        references=(
            "https://pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
            "https://github.com/pytorch/pytorch/issues/48065",
        ),
    ),
    symptoms=(VISIBLE_COPIES,),
    relieves=Bound.TRANSFER,
    edit_lines=1,
    needs=("BatchFacts.custom_transfer", "BatchFacts.non_blocking", "BatchFacts.pinned", "Facts.transfers"),
    check=check,
    predict=predict,
)
