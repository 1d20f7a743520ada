"""FW207: static data that would fit on the device are copied again in every epoch."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.questions.copies import exposed_copies
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.symptoms import GPU_NO_FASTER, VISIBLE_COPIES
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, size

# Half of what is free: activations of larger batches and fragments need the other half.
MOST_OF_FREE: Final = 0.5
# Indexing on the device is one small kernel. At worst a quarter of the cost stays.
LEAST_REMOVED: Final = 0.75

TORCH: Final = """from torch.utils.data import BatchSampler, RandomSampler, TensorDataset

dataset = TensorDataset(*(tensor.to("{device}") for tensor in dataset.tensors))
loader = DataLoader(
    dataset,
    sampler=BatchSampler(RandomSampler(dataset), batch_size={batch_size}, drop_last=False),
    batch_size=None,
)"""
TENSORFLOW: Final = """with tf.device("/GPU:0"):
    inputs, targets = tf.constant(inputs), tf.constant(targets)
picks = tf.data.Dataset.range(len(inputs)).shuffle(len(inputs)).batch({batch_size}).prefetch(2)
dataset = picks.map(lambda rows: (tf.gather(inputs, rows), tf.gather(targets, rows)))"""

PAGE: Final = """
## What it sees
Static data in host memory, smaller than half of the free device memory, whose loading or copying costs a visible part
of a run of several epochs.

## Why it costs
The same bytes travel to the device in every epoch. Once there, a batch is an index operation of some microseconds: no
worker, no pinned memory, no copy.

## Fix
Move the tensors to the device before training and index whole batches there. Do augmentation on the device as well.

## When to leave it
When the model will grow into that memory, or when every rank would hold its own copy of data that only fit once.

## References
- https://pytorch.org/docs/stable/data.html#disable-automatic-batching
- https://www.tensorflow.org/api_docs/python/tf/gather
"""


@rule(
    PAGE,
    knob="resident_data",
    relieves=Bound.TRANSFER,
    symptoms=(VISIBLE_COPIES, GPU_NO_FASTER),
    edit_lines=6,
    needs=("DeviceFacts.memory_free_bytes", "EpochBoundaries.count"),
)
def RULE(case: Case) -> Found | None:
    device, account, data_bytes, code = case.facts.device, case.account, _static_bytes(case), _code(case)
    if device is None or device.memory_free_bytes is None or account is None or data_bytes is None or code is None:
        return None
    if case.facts.run.device_kind == "cpu" or case.boundaries.count < 1:
        return None
    copies, input_bound = exposed_copies(case), case.verdict.bound is Bound.INPUT
    if data_bytes > MOST_OF_FREE * device.memory_free_bytes or (copies is None and not input_bound):
        return None
    exposed_ms = 0.0 if copies is None else copies.exposed_ms
    wait_ms = (account.stalled_ms or 0.0) if input_bound else 0.0
    most_ms = min(account.batch_ms, exposed_ms + wait_ms)
    because = f"up to {ms(most_ms)} of waiting and copying per batch are gone when the data stay on the device"
    return Found(
        title=f"Put the {size(data_bytes)} of data on the device once",
        says=(
            f"The data are {size(data_bytes)} and the same in every epoch; {size(device.memory_free_bytes)} are free "
            f"on the device. Loading and copying again costs {ms(most_ms)} of the {ms(account.batch_ms)} per batch."
        ),
        numbers={
            "dataset_bytes": float(data_bytes),
            "device_free_bytes": float(device.memory_free_bytes),
            "removable_ms": most_ms,
            "batch_ms": account.batch_ms,
        },
        before="# every batch of every epoch is sliced on the host and copied to the device",
        after=code,
        gain=removed(account, most_ms, LEAST_REMOVED * most_ms, because),
        alters=(Alters.CODE, Alters.RANDOMNESS),
    )


def _static_bytes(case: Case) -> int | None:
    loader, data = case.facts.pipeline.loader, case.facts.pipeline.tf_data
    if loader is not None and loader.in_memory and loader.static_items and not loader.device_tensors:
        return loader.dataset_bytes
    if data is not None and data.from_memory and all(stage.random is not True for stage in data.stages):
        return data.epoch_bytes
    return None


def _code(case: Case) -> str | None:
    """Keras on JAX and on torch make arrays of the host's of what tf.data yields: there the data would come back."""
    run, loader = case.facts.run, case.facts.pipeline.loader
    batch_size = (None if loader is None else loader.batch_size) or run.batch_size or 32
    if run.backend == "tensorflow":
        return TENSORFLOW.format(batch_size=batch_size) if loader is None else None
    if run.backend != "torch" or loader is None:
        return None
    return TORCH.format(device=run.device_kind.replace("rocm", "cuda"), batch_size=batch_size)
