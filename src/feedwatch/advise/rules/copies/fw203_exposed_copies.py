"""FW203: copies are pinned and asynchronous, yet the device waits for each of them."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.copies import (
    CopyLook,
    copies_block,
    exposed_copies,
    in_compute_stream,
    kind_share,
    pinned,
    shorter_step,
)
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.symptoms import VISIBLE_COPIES
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.steps import COMPUTE
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, percent, times

MOST_BYTES: Final = 0.5
# When this share of the copy time is hidden, the copies already run beside kernels.
HIDDEN_ENOUGH: Final = 0.5
# Copies and kernels share the device's memory and slow each other down a little.
LEAST_REMOVED: Final = 0.8

TORCH: Final = """from torch.utils._pytree import tree_leaves, tree_map_only


class CopyAhead:
    \"\"\"Copies the next batch on a stream of its own while the step runs.\"\"\"

    def __init__(self, loader, device):
        self.loader, self.device = loader, torch.device(device)

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        stream, ready = torch.cuda.Stream(self.device), None
        for batch in self.loader:
            with torch.cuda.stream(stream):
                copied = tree_map_only(torch.Tensor, lambda value: value.to(self.device, non_blocking=True), batch)
            if ready is not None:
                yield ready
            torch.cuda.current_stream(self.device).wait_stream(stream)
            for value in tree_leaves(copied):
                if isinstance(value, torch.Tensor):
                    value.record_stream(torch.cuda.current_stream(self.device))
            ready = copied
        if ready is not None:
            yield ready"""
# fit takes a DataLoader and nothing that only looks like one.
KERAS: Final = """from torch.utils._pytree import tree_leaves, tree_map_only


class CopyAhead(torch.utils.data.DataLoader):  # in place of DataLoader, with the same arguments
    \"\"\"Copies the next batch on a stream of its own while the step runs.\"\"\"

    def __iter__(self):
        device = torch.device("cuda", torch.cuda.current_device())
        stream, ready = torch.cuda.Stream(device), None
        for batch in super().__iter__():
            with torch.cuda.stream(stream):
                copied = tree_map_only(torch.Tensor, lambda value: value.to(device, non_blocking=True), batch)
            if ready is not None:
                yield ready
            torch.cuda.current_stream(device).wait_stream(stream)
            for value in tree_leaves(copied):
                if isinstance(value, torch.Tensor):
                    value.record_stream(torch.cuda.current_stream(device))
            ready = copied
        if ready is not None:
            yield ready"""
TENSORFLOW: Final = """dataset = dataset.apply(tf.data.experimental.copy_to_device("/GPU:0"))
dataset = dataset.prefetch(2)  # after the copy: batches wait on the device"""

PAGE: Final = """
## What it sees
Copies from pinned memory of which less than half of the time is hidden behind kernels.

## Why it costs
A copy on the stream that computes runs before the kernels of its step, not beside those of the step before. The device
has engines of its own for copies; they stand idle.

## Fix
Copy the next batch on a second stream while the current step runs. With TensorFlow, `copy_to_device` followed by
`prefetch`. Keras on JAX sends the batch ahead itself.

## When to leave it
When device memory is short: one more batch has to fit.

## References
- https://pytorch.org/docs/stable/notes/cuda.html#cuda-streams
- https://www.tensorflow.org/api_docs/python/tf/data/experimental/copy_to_device
"""


@rule(
    PAGE,
    knob="copy_ahead",
    relieves=Bound.TRANSFER,
    symptoms=(VISIBLE_COPIES,),
    edit_lines=20,
    needs=(),
)
def RULE(case: Case) -> Found | None:
    look, backend = exposed_copies(case), case.facts.run.backend
    hidden = None if look is None else _hidden(case, look)
    if look is None or hidden is None or hidden >= HIDDEN_ENOUGH or not _from_pinned(case, look):
        return None
    # Only as much as the step computes can be hidden.
    most_ms = min(look.exposed_ms, look.account.ms(COMPUTE) or look.exposed_ms)
    least_ms = LEAST_REMOVED * most_ms
    because = f"copied one batch ahead, {ms(least_ms)} to {ms(most_ms)} per batch run beside kernels"
    freed_ms = look.exposed_ms if copies_block(case) else 0.0
    gain = shorter_step(case, look.account, most_ms, least_ms, because, host_freed_ms=freed_ms)
    # So many lines are not for a mere hope: where batches may come no faster the rule is silent.
    if gain is None or gain.low < 1.0 or backend not in ("torch", "tensorflow"):
        return None
    promised = gain if gain.low >= THRESHOLDS.least_gain else None
    hope = "" if promised is not None else f" At best, training gets {times(gain.high)} as fast."
    return Found(
        title="Copy one batch ahead, beside the step",
        says=(
            f"Copies come from pinned memory, but only {percent(hidden)} of their time runs beside a kernel: "
            f"{ms(look.exposed_ms)} of the {ms(look.batch_ms)} per batch ({percent(look.share)}) it only copies.{hope}"
        ),
        numbers={
            "exposed_ms": look.exposed_ms,
            "batch_ms": look.batch_ms,
            "exposed_share": look.share,
            "hidden_share": hidden,
        },
        before="# the batch is copied on the stream that computes: first the copy, then the kernels",
        after=_code(case),
        gain=promised,
        alters=() if backend == "tensorflow" else (Alters.CODE,),
    )


def _hidden(case: Case, look: CopyLook) -> float | None:
    """The share of the copies beside which kernels run; None where nobody can tell."""
    if look.device is not None and look.device.hidden_share is not None:
        return look.device.hidden_share
    return 0.0 if in_compute_stream(case) else None


def _code(case: Case) -> str:
    run = case.facts.run
    if run.backend == "tensorflow":
        return TENSORFLOW
    module = run.device_kind.replace("rocm", "cuda")  # as torch calls ROCm's devices, too
    return (KERAS if run.framework == "keras" else TORCH).replace("cuda", module)


def _from_pinned(case: Case, look: CopyLook) -> bool:
    share = kind_share(look, "pinned")
    return pinned(case) is True if share is None else share >= MOST_BYTES
