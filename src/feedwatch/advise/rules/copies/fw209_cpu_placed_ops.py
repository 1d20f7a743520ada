"""FW209: the step itself copies back and forth between device and host."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import batches_per_step, removed
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.symptoms import LOW_GPU_DATA_READY, VISIBLE_COPIES
from feedwatch.diagnose.shares import exposed_ms_per_step, watched_device
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, size

# A loss or a metric has a few bytes. This much per step is the input of an operation on the CPU.
LEAST_BACK_BYTES: Final = 65536
# The operation's results go to the device: that much more than the batch is copied to it.
BEYOND_BATCH: Final = 1.25
# The operation itself still has to run on the device.
LEAST_REMOVED: Final = 0.5

TENSORFLOW: Final = """tf.debugging.set_log_device_placement(True)  # prints where every operation runs
tf.config.set_soft_device_placement(False)  # fails at the operation that has no device kernel"""
TORCH: Final = """with torch.profiler.profile(with_stack=True) as profile:
    training_step(batch)
print(profile.key_averages(group_by_stack_n=5).table(sort_by="cpu_time_total"))  # look for aten::to, .cpu()"""

PAGE: Final = """
## What it sees
Copies from the device to the host and back inside the step, beyond the batch itself.

## Why it costs
An operation without a device kernel (or a `.cpu()`, `.numpy()`, a string or a hash table operation) makes the device
send its input to the host, wait, and get the result back: two copies and an idle device in every step.

## Fix
Find it (device placement log in TensorFlow, a profile with stacks in PyTorch), replace it by operations that have a
device kernel, or move it into the input pipeline.

## When to leave it
When the operation is needed only every few hundred steps.

## References
- https://www.tensorflow.org/guide/gpu#logging_device_placement
- https://pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization
"""


@rule(
    PAGE,
    knob="placement",
    relieves=Bound.TRANSFER,
    symptoms=(LOW_GPU_DATA_READY, VISIBLE_COPIES),
    edit_lines=10,
    needs=("Facts.batch", "Facts.transfers"),
)
def RULE(case: Case) -> Found | None:
    transfers, batch, device, account = case.facts.transfers, case.facts.batch, watched_device(case.facts), case.account
    exposed_ms, backend = exposed_ms_per_step(case.facts), case.facts.run.backend
    if account is None or transfers is None or batch is None or device is None or exposed_ms is None:
        return None
    steps = transfers.sample.steps
    if steps <= 0 or device.to_host is None or device.bytes_per_step is None or backend not in CODE:
        return None
    back_bytes, there_bytes = device.to_host.size_bytes / steps, device.bytes_per_step
    if back_bytes < LEAST_BACK_BYTES or there_bytes < BEYOND_BATCH * batch.size_bytes:
        return None
    lost_ms = min(account.batch_ms, (exposed_ms + device.to_host.time_ns / steps / 1e6) / batches_per_step(case))
    if lost_ms / account.batch_ms < THRESHOLDS.worth_saying_share:
        return None
    because = f"up to {ms(lost_ms)} of copies per batch are gone when the operation runs on the device"
    return Found(
        title="Find the operation of the step that runs on the CPU, and place or replace it",
        says=(
            f"In every step {size(back_bytes)} come back from the device and {size(there_bytes)} go to it, though a "
            f"batch has only {size(batch.size_bytes)}: an operation of the step runs on the CPU. Its copies take "
            f"{ms(lost_ms)} of the {ms(account.batch_ms)} per batch."
        ),
        numbers={
            "bytes_back_per_step": back_bytes,
            "bytes_there_per_step": there_bytes,
            "batch_bytes": float(batch.size_bytes),
            "copies_ms": lost_ms,
            "batch_ms": account.batch_ms,
        },
        before="# copies in both directions inside the step",
        after=CODE[backend],
        gain=removed(account, lost_ms, LEAST_REMOVED * lost_ms, because),
        alters=(Alters.CODE,),
    )


CODE: Final = {"tensorflow": TENSORFLOW, "torch": TORCH}
