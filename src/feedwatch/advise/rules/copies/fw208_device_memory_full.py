"""FW208: data placed on the device leave no room for the model."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import identifier
from feedwatch.advise.symptoms import MEMORY_SHORT
from feedwatch.model.verdict import Bound
from feedwatch.words import percent, size

# Allocators need a few percent to find a place; above this the next larger batch fails.
FULL_SHARE: Final = 0.95

PAGE: Final = """
## What it sees
A data set that was moved to the device, on a device whose memory is nearly full.

## Why it costs
Memory that holds the data set cannot hold activations: the batch has to stay small, the allocator has to search and to
free, and one larger input ends the run.

## Fix
Leave the data on the host and copy batch by batch, from pinned memory, asynchronously: that costs next to nothing when
the copies run beside the step.

## When to leave it
When the run fits and will not change.

## References
- https://pytorch.org/docs/stable/notes/cuda.html#memory-management
"""


@rule(
    PAGE,
    knob="resident_data",
    relieves=Bound.UNKNOWN,
    symptoms=(MEMORY_SHORT,),
    edit_lines=3,
    needs=(
        "DeviceFacts.memory_total_bytes",
        "DeviceFacts.memory_used_share",
        "LoaderFacts.dataset_bytes",
        "LoaderFacts.device_tensors",
    ),
)
def RULE(case: Case) -> Found | None:
    loader, device = case.facts.pipeline.loader, case.facts.device
    if case.run is None or loader is None or loader.device_tensors is not True or device is None:
        return None
    used, data_bytes = device.memory_used_share, loader.dataset_bytes
    if used is None or used < FULL_SHARE or data_bytes is None or device.memory_total_bytes is None:
        return None
    name = identifier(loader.class_name, "DataLoader")
    return Found(
        title="Keep the data on the host and copy batches, pinned and asynchronous",
        says=(
            f"Device memory is {percent(used)} full, {size(data_bytes)} of its {size(device.memory_total_bytes)} hold "
            "the data set. There is no room for a larger batch, and the next allocation may fail."
        ),
        numbers={
            "memory_used_share": used,
            "dataset_bytes": float(data_bytes),
            "memory_total_bytes": float(device.memory_total_bytes),
        },
        before='dataset = TensorDataset(*(tensor.to("cuda") for tensor in tensors))',
        after=f"dataset = TensorDataset(*tensors)  # on the host\nloader = {name}(dataset, ..., pin_memory=True)",
        alters=(Alters.CODE,),
    )
