"""Drawing the indices of a batch takes longer than it should."""

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.symptoms import MORE_WORKERS_NO_HELP, ONE_BUSY_CPU
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound
from feedwatch.words import ms

PAGE = """
## What it sees
A sampler or batch sampler that takes a visible part of every batch to draw its indices.

## Why it costs
Indices are drawn in the training process, also with workers. A sampler in Python that looks at one item after the
other (weights, lengths, buckets) runs between two steps.

## Fix
Draw with arrays: `torch.multinomial` or `numpy` for a whole epoch, sort and cut into batches once. Look-ups that do
not change between epochs belong into `__init__`.

## When to leave it
When the next index depends on the result of the step.

## References
- https://pytorch.org/docs/stable/data.html#data-loading-order-and-sampler
"""


@rule(
    PAGE,
    knob="sampler",
    relieves=Bound.INPUT,
    symptoms=(
        ONE_BUSY_CPU,
        MORE_WORKERS_NO_HELP,
    ),
    edit_lines=10,
    needs=("LoaderFacts.sampler_ms",),
)
def RULE(case: Case) -> Found | None:
    loader, account = case.facts.pipeline.loader, case.account
    if loader is None or account is None or loader.sampler_ms is None:
        return None
    # The indices are drawn on the training thread, whoever loads the items.
    if loader.sampler_ms < THRESHOLDS.worth_saying_share * account.typical.batch_ms:
        return None
    return Found(
        title="Draw the indices of an epoch at once",
        says=(
            f"The sampler takes {ms(loader.sampler_ms)} per batch to draw indices, on the training thread: workers do "
            f"not do this. A batch takes {ms(account.batch_ms)}."
        ),
        numbers={"sampler_ms": loader.sampler_ms, "batch_ms": account.batch_ms},
        before="loader = DataLoader(..., sampler=sampler)  # draws one index after the other",
        after="""class AtOnce(torch.utils.data.Sampler):
    # The same indices, drawn for the whole epoch before its first batch.
    def __init__(self, sampler):
        self.sampler = sampler

    def __len__(self):
        return len(self.sampler)

    def __iter__(self):
        return iter(list(self.sampler))


loader = DataLoader(..., sampler=AtOnce(sampler))  # and make `sampler` work on arrays, not on single numbers""",
        gain=removed(
            account,
            0.95 * loader.sampler_ms,
            0.7 * loader.sampler_ms,
            f"an estimate: a sampler on arrays leaves little of the {ms(loader.sampler_ms)} per batch",
        ),
        alters=(Alters.CODE,),
    )
