"""The data set hands over tensors that are on the device already."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import loader_edit
from feedwatch.advise.symptoms import LOW_GPU_DATA_READY, SWINGING_GPU
from feedwatch.model.steps import INPUT_WAIT
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms

PAGE = """
## What it sees
A data set or collate function that returns CUDA tensors through a DataLoader which batches item by item.

## Why it costs
Every item becomes a copy (or a kernel) of its own, each with its launch cost, and stacking them is one more. CUDA
tensors also cannot come from forked workers, so loading stays in the training process.

## Fix
Return host tensors, let the loader pin them (`pin_memory=True`), and let the framework copy the whole batch,
asynchronously. Data small enough to live on the device should be indexed in whole batches (see FW207).

## When to leave it
When the whole data set is on the device and the sampler hands over whole batches of indices.

## References
- https://pytorch.org/docs/stable/notes/multiprocessing.html#cuda-in-multiprocessing
"""

# One small copy costs 10 µs of driver call at least, 30 µs with the tensor around it.
LEAST_COPY_MS: Final = 0.01
MOST_COPY_MS: Final = 0.03


@rule(
    PAGE,
    knob="device items",
    relieves=Bound.INPUT,
    symptoms=(
        LOW_GPU_DATA_READY,
        SWINGING_GPU,
    ),
    edit_lines=2,
    needs=("LoaderFacts.batch_size", "LoaderFacts.device_tensors"),
)
def RULE(case: Case) -> Found | None:
    loader, account, device = case.facts.pipeline.loader, case.account, case.facts.run.device_kind
    if loader is None or account is None or loader.device_tensors is not True or device == "cpu":
        return None
    wait_ms = account.ms(INPUT_WAIT)
    # Data on the device that are indexed in whole batches cannot be loaded faster.
    if wait_ms is None or loader.batched_getitems or not loader.batch_size or loader.batch_size < 2:
        return None
    copies = loader.batch_size
    before = f'def __getitem__(self, index):\n    return self.data[index].to("{device}")'
    _, after = loader_edit(loader, {"pin_memory": True})
    return Found(
        title="Keep items on the host and copy once per batch",
        says=(
            f"The data set hands over tensors that are on the device already: {copies} small copies or slices per "
            f"batch, made one after the other, and {ms(wait_ms)} of waiting per batch. Workers cannot share them."
        ),
        numbers={"copies_per_batch": float(copies), "wait_ms": wait_ms, "batch_ms": account.batch_ms},
        before=before,
        after=f"def __getitem__(self, index):\n    return self.data[index]  # on the host\n\n\n{after}",
        gain=removed(
            account,
            min(wait_ms, copies * MOST_COPY_MS),
            min(wait_ms, copies * LEAST_COPY_MS),
            f"each of {count(copies, 'small copy', 'small copies')} per batch costs {ms(LEAST_COPY_MS)} to "
            f"{ms(MOST_COPY_MS)}",
        ),
        alters=(Alters.CODE,),
    )
