"""FW207: static data that would fit on the device are copied again in every epoch."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.copies import exposed_copies
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.step_model import removed_gain, step_times
from feedwatch.advise.symptoms import GPU_NO_FASTER, VISIBLE_COPIES
from feedwatch.model.verdict import Bound, Evidence, Gain
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


def check(case: Case) -> Evidence | None:
    device, times, size_bytes = case.facts.device, step_times(case), _static_bytes(case)
    if device is None or device.memory_free_bytes is None or times is None or size_bytes is None:
        return None
    if case.facts.run.device_kind == "cpu" or case.boundaries.count < 1:
        return None
    copies, input_bound = exposed_copies(case), case.verdict.bound is Bound.INPUT
    if size_bytes > MOST_OF_FREE * device.memory_free_bytes or (copies is None and not input_bound):
        return None
    step_ms = times.step_ms if copies is None else copies.step_ms
    exposed_ms = 0.0 if copies is None else copies.exposed_ms
    wait_ms = times.wait_ms if input_bound else 0.0
    tensorflow, batch_size = case.facts.run.backend == "tensorflow", _batch_size(case)
    return Evidence(
        says=(
            f"The data are {size(size_bytes)} and the same in every epoch; "
            f"{size(device.memory_free_bytes)} are free on the "
            f"device. Loading and copying them again costs {ms(exposed_ms + wait_ms)} of every {ms(step_ms)} step."
        ),
        numbers={
            "dataset_bytes": float(size_bytes),
            "device_free_bytes": float(device.memory_free_bytes),
            "removable_ms": min(step_ms, exposed_ms + wait_ms),
            "step_ms": step_ms,
        },
        blanks={
            "after": (TENSORFLOW if tensorflow else TORCH).format(
                device=case.facts.run.device_kind.replace("rocm", "cuda"), batch_size=batch_size
            ),
            "size": size(size_bytes),
        },
    )


def predict(_case: Case, evidence: Evidence) -> Gain | None:
    most_ms = evidence.numbers["removable_ms"]
    because = f"up to {ms(most_ms)} of waiting and copying per step are gone when the data stay on the device"
    return removed_gain(evidence.numbers["step_ms"], (most_ms, LEAST_REMOVED * most_ms), because)


def _static_bytes(case: Case) -> int | None:
    loader, data = case.facts.pipeline.loader, case.facts.pipeline.tf_data
    if loader is not None and loader.in_memory and loader.static_items and not loader.device_tensors:
        return loader.dataset_bytes
    if data is not None and data.from_memory and all(stage.random is not True for stage in data.stages):
        return data.epoch_bytes
    return None


def _batch_size(case: Case) -> int:
    loader, run = case.facts.pipeline.loader, case.facts.run
    return (None if loader is None else loader.batch_size) or run.batch_size or 32


RULE: Final = Rule(
    code="FW207",
    name="resident-dataset",
    title="Put the $size of data on the device once",
    before="# every batch of every epoch is sliced on the host and copied to the device",
    after="$after",
    page=Page(
        sees=(
            "Static data in host memory, smaller than half of the free device memory, whose loading or "
            "copying costs a visible part of the step in a run of several epochs."
        ),
        why=(
            "The same bytes travel to the device in every epoch. Once there, a batch is an index "
            "operation of some microseconds: no worker, no pinned memory, no copy."
        ),
        fix=(
            "Move the tensors to the device before training and index whole batches there. Do "
            "augmentation on the device as well."
        ),
        leave=(
            "When the model will grow into that memory, or when every rank would hold its own copy of "
            "data that only fit once."
        ),
        references=(
            "https://pytorch.org/docs/stable/data.html#disable-automatic-batching",
            "https://www.tensorflow.org/api_docs/python/tf/gather",
        ),
    ),
    symptoms=(VISIBLE_COPIES, GPU_NO_FASTER),
    relieves=Bound.TRANSFER,
    edit_lines=6,
    needs=("DeviceFacts.memory_free_bytes", "EpochBoundaries.count"),
    check=check,
    predict=predict,
)
