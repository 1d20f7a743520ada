"""FW205: many small copies, each with its own latency."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.questions.copies import exposed_copies
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.symptoms import VISIBLE_COPIES
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms, number, size

# Below 64 KiB a copy takes as long as its latency, whatever its size.
SMALL_BYTES: Final = 65536
# A framework's own scalars are a handful per step; this many tensors are the user's.
MANY_TENSORS: Final = 16
# The packed copy carries all bytes and has to be taken apart again.
LEAST_REMOVED: Final = 0.6

CODE: Final = """# In collate: one tensor, and where each part of it begins.
names = list(batch)
packed = torch.cat([batch[name].reshape(len(batch[name]), -1) for name in names], dim=1)
widths = [batch[name][0].numel() for name in names]
# On the device, after one copy: views, no further copies.
parts = dict(zip(names, packed.to(device, non_blocking=True).split(widths, dim=1)))"""

PAGE: Final = """
## What it sees
Batches of many small tensors, copied one by one, with copies that cost a visible part of the run.

## Why it costs
A copy below 64 KiB takes as long as its latency, about ten microseconds, whatever its size. A hundred of them cost a
millisecond per step, for data that one copy would carry in the same ten microseconds.

## Fix
Concatenate the parts of the batch in the collate function, copy once, and take views of it on the device.

## When to leave it
When the parts have different types and most of the bytes are in one of them already.

## References
- https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#data-transfer-between-host-and-device
"""


@rule(
    PAGE,
    knob="batch_layout",
    relieves=Bound.TRANSFER,
    symptoms=(VISIBLE_COPIES,),
    edit_lines=8,
    needs=("Facts.batch", "Facts.transfers"),
)
def RULE(case: Case) -> Found | None:
    look, batch = exposed_copies(case), case.facts.batch
    if look is None or look.device is None or batch is None or look.steps <= 0 or look.device.copies.count <= 0:
        return None
    copies = look.device.copies
    per_step, mean_bytes = copies.count / look.steps, copies.size_bytes / copies.count
    if batch.tensors < MANY_TENSORS or per_step < batch.tensors or mean_bytes >= SMALL_BYTES:
        return None
    most_ms = look.exposed_ms * (1 - 1 / per_step)
    least_ms = LEAST_REMOVED * most_ms
    because = f"one copy instead of {number(per_step)} saves their latency, {ms(least_ms)} to {ms(most_ms)} per batch"
    return Found(
        title=f"Pack the {batch.tensors} tensors of a batch into one",
        says=(
            f"A batch consists of {batch.tensors} tensors, copied one by one: {count(per_step, 'copy', 'copies')} of "
            f"{size(mean_bytes)} per step. Each costs its latency, together {ms(look.exposed_ms)} of the "
            f"{ms(look.batch_ms)} per batch."
        ),
        numbers={
            "tensors": float(batch.tensors),
            "copies_per_step": per_step,
            "bytes_per_copy": mean_bytes,
            "exposed_ms": look.exposed_ms,
            "batch_ms": look.batch_ms,
        },
        before=f"batch = {{name: value.to(device) for name, value in batch.items()}}  # {batch.tensors} copies",
        after=CODE,
        gain=removed(look.account, most_ms, least_ms, because),
        alters=(Alters.CODE,),
    )
