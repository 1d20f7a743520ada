"""FW209: the step itself copies back and forth between device and host."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.step_model import removed_gain
from feedwatch.advise.symptoms import LOW_GPU_DATA_READY, VISIBLE_COPIES
from feedwatch.diagnose.shares import exposed_ms_per_step, watched_device
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import ms, size

# A loss or a metric has a few bytes. This much per step is the input of an operation on the CPU.
LEAST_BACK_BYTES: Final = 65536
# The operation's results go to the device: that much more than the batch is copied to it.
BEYOND_BATCH: Final = 1.25
# The operation itself still has to run on the device.
LEAST_REMOVED: Final = 0.5


def check(case: Case) -> Evidence | None:
    transfers, batch, device = case.facts.transfers, case.facts.batch, watched_device(case.facts)
    exposed_ms = exposed_ms_per_step(case.facts)
    if case.run is None or case.run.steps <= 0 or transfers is None or batch is None or device is None:
        return None
    steps = transfers.sample.steps
    if steps <= 0 or device.to_host is None or device.bytes_per_step is None or exposed_ms is None:
        return None
    back_bytes, there_bytes = device.to_host.size_bytes / steps, device.bytes_per_step
    if back_bytes < LEAST_BACK_BYTES or there_bytes < BEYOND_BATCH * batch.size_bytes:
        return None
    step_ms = case.run.wall_ns / case.run.steps / 1e6
    lost_ms = min(step_ms, exposed_ms + device.to_host.time_ns / steps / 1e6)
    if lost_ms / step_ms < THRESHOLDS.worth_saying_share:
        return None
    return Evidence(
        says=(
            f"In every step {size(back_bytes)} come back from the device and {size(there_bytes)} go "
            f"to it, though a batch has "
            f"only {size(batch.size_bytes)}: an operation of the step runs on the CPU. Its copies "
            f"take {ms(lost_ms)} of "
            f"every {ms(step_ms)} step."
        ),
        numbers={
            "bytes_back_per_step": back_bytes,
            "bytes_there_per_step": there_bytes,
            "batch_bytes": float(batch.size_bytes),
            "copies_ms": lost_ms,
            "step_ms": step_ms,
        },
        blanks={"after": TENSORFLOW if case.facts.run.backend == "tensorflow" else TORCH},
    )


def predict(_case: Case, evidence: Evidence) -> Gain | None:
    most_ms = evidence.numbers["copies_ms"]
    because = f"up to {ms(most_ms)} of copies per step are gone when the operation runs on the device"
    return removed_gain(evidence.numbers["step_ms"], (most_ms, LEAST_REMOVED * most_ms), because)


TENSORFLOW: Final = """tf.debugging.set_log_device_placement(True)  # prints where every operation runs
tf.config.set_soft_device_placement(False)  # fails at the operation that has no device kernel"""
TORCH: Final = """with torch.profiler.profile(with_stack=True) as profile:
    training_step(batch)
print(profile.key_averages(group_by_stack_n=5).table(sort_by="cpu_time_total"))  # look for aten::to, .cpu()"""

RULE: Final = Rule(
    code="FW209",
    name="cpu-placed-ops",
    title="Find the operation of the step that runs on the CPU, and place or replace it",
    before="# copies in both directions inside the step",
    after="$after",
    page=Page(
        sees="Copies from the device to the host and back inside the step, beyond the batch itself.",
        why=(
            "An operation without a device kernel (or a `.cpu()`, `.numpy()`, a string or a hash table "
            "operation) makes the device send its input to the host, wait, and get the result back: two "
            "copies and an idle device in every step."
        ),
        fix=(
            "Find it (device placement log in TensorFlow, a profile with stacks in PyTorch), replace it "
            "by operations that have a device kernel, or move it into the input pipeline."
        ),
        leave="When the operation is needed only every few hundred steps.",
        references=(
            "https://www.tensorflow.org/guide/gpu#logging_device_placement",
            "https://pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization",
        ),
    ),
    symptoms=(LOW_GPU_DATA_READY, VISIBLE_COPIES),
    relieves=Bound.TRANSFER,
    edit_lines=10,
    needs=("Facts.batch", "Facts.transfers"),
    check=check,
    predict=predict,
)
