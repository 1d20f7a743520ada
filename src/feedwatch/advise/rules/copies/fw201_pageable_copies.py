"""FW201: batches are copied from pageable memory, while the device stands still."""

from typing import Final, NamedTuple

from feedwatch.advise.case import Case
from feedwatch.advise.questions.copies import (
    CopyLook,
    copies_block,
    exposed_copies,
    hidden_gaps_ms,
    kind_share,
    pinned,
    shorter_step,
)
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import identifier
from feedwatch.advise.symptoms import VISIBLE_COPIES
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound, Gain
from feedwatch.words import ms, percent, times

MOST_BYTES: Final = 0.5
# A pinned copy takes half to a fifth of the time of a pageable one: an assumption, no GPU was measured.
LEAST_REMOVED: Final = 0.5
MOST_REMOVED: Final = 0.8

# A loader pins tensors in lists, tuples and dictionaries. An object of another class it leaves as it is.
UNPINNED_CLASS: Final = "Give the batch's class a pin_memory method"
UNPINNED_BEFORE: Final = (
    "class Batch:  # what collate_fn returns: pin_memory=True does not reach the tensors in it\n    ..."
)
UNPINNED_AFTER: Final = """class Batch:
    ...

    def pin_memory(self):  # DataLoader(pin_memory=True) calls it
        for name, value in vars(self).items():
            if isinstance(value, torch.Tensor):
                setattr(self, name, value.pin_memory())
        return self"""

PAGE: Final = """
## What it sees
Exposed host-to-device copies, most of their bytes from pageable memory, or a loader without `pin_memory` on a device.

## Why it costs
The device can only read memory that is pinned. A pageable batch is first copied into a pinned buffer of the driver,
piece by piece, and the host waits until that is done; no kernel runs meanwhile.

## Fix
Let the loader pin its batches (`pin_memory=True`). Lightning and Hugging Face then copy them with `non_blocking=True`
by themselves; in a loop of your own you write it. A batch of a class of your own needs a `pin_memory` method. With
TensorFlow, prefetch to the device, so that the next batch is copied while the step runs.

## When to leave it
When host memory is short, or when batches are so small that pinning costs more than it saves: try it, and compare.

## References
- https://pytorch.org/tutorials/intermediate/pinmem_nonblock.html
- https://www.tensorflow.org/api_docs/python/tf/data/experimental/prefetch_to_device
- https://github.com/tensorflow/tensorflow/issues/44836
"""


class Change(NamedTuple):
    title: str
    before: str
    after: str
    alters: tuple[Alters, ...] = ()


@rule(PAGE, knob="pin_memory", relieves=Bound.TRANSFER, symptoms=(VISIBLE_COPIES,), edit_lines=1, needs=())
def RULE(case: Case) -> Found | None:
    look, change = exposed_copies(case), _change(case)
    source = None if look is None else _source(case, look)
    if look is None or change is None or source is None:
        return None
    share, gain = kind_share(look, "pageable"), _gain(case, look)
    if gain is None:
        return None  # batches do not come faster than the device takes them
    promised = gain if gain.low >= THRESHOLDS.least_gain else None
    numbers = {"exposed_ms": look.exposed_ms, "batch_ms": look.batch_ms, "exposed_share": look.share}
    # So small a gain is no promise, but the change is one word: it is told without one.
    hope = "" if promised is not None else f" At best, training gets {times(gain.high)} as fast."
    return Found(
        title=change.title,
        says=(
            f"Copies that nothing hides take {ms(look.exposed_ms)} of the {ms(look.batch_ms)} per batch "
            f"({percent(look.share)}), and {source}: the driver has to copy it twice, and the host waits for it.{hope}"
        ),
        numbers=numbers if share is None else numbers | {"pageable_share": share},
        before=change.before,
        after=change.after,
        gain=promised,
        alters=change.alters,
    )


def _source(case: Case, look: CopyLook) -> str | None:
    """Why the memory is known to be pageable; None where it is pinned, or where nobody knows."""
    share, is_pinned = kind_share(look, "pageable"), pinned(case)
    if is_pinned or (share is not None and share < MOST_BYTES):
        return None
    loader = case.facts.pipeline.loader
    if loader is not None and loader.pin_memory:
        return "the batch is not pinned although the loader was told to pin"
    if share is not None:
        return f"{percent(share)} of the bytes come from pageable memory"
    return None if is_pinned is None else "the loader does not pin its batches"


def _gain(case: Case, look: CopyLook) -> Gain | None:
    least_ms, most_ms = LEAST_REMOVED * look.exposed_ms, MOST_REMOVED * look.exposed_ms
    if case.facts.run.backend == "tensorflow":  # the fix copies ahead: nothing of the copy stays visible at best
        because = f"copied ahead, {ms(least_ms)} to all of the {ms(look.exposed_ms)} per batch are gone"
        return shorter_step(case, look.account, look.exposed_ms, least_ms, because)
    because = f"pinned copies take half of the time or less: {ms(least_ms)} and more of {ms(look.exposed_ms)} are gone"
    if copies_block(case):  # a pinned copy holds up the host, too, for as long as it takes
        return shorter_step(case, look.account, most_ms, least_ms, because, host_freed_ms=most_ms)
    gaps_ms = hidden_gaps_ms(case, look.account)
    if gaps_ms > 0:
        because += (
            f", and the host, which no longer waits for the copy, prepares the next step meanwhile: {ms(gaps_ms)}"
        )
    return shorter_step(case, look.account, most_ms + gaps_ms, least_ms, because, host_freed_ms=look.exposed_ms)


def _change(case: Case) -> Change | None:
    """Where the backend copies from its own memory, the loader's setting changes nothing."""
    backend, pipeline = case.facts.run.backend, case.facts.pipeline
    if backend == "torch" and pipeline.loader is not None:
        if pipeline.loader.pin_memory:
            return Change(UNPINNED_CLASS, UNPINNED_BEFORE, UNPINNED_AFTER, (Alters.CODE,))
        name = identifier(pipeline.loader.class_name, "DataLoader")
        # Lightning and Hugging Face copy without blocking by themselves; Keras has no setting for it.
        loop = "\nbatch = batch.to(device, non_blocking=True)" if case.facts.run.framework == "torch" else ""
        return Change(
            "Copy from pinned memory: pin_memory=True",
            f"loader = {name}(...)",
            f"loader = {name}(..., pin_memory=True){loop}",
        )
    if backend == "tensorflow" and pipeline.tf_data is not None:
        return Change(
            "Copy ahead of the step: prefetch to the device",
            "dataset = dataset.prefetch(tf.data.AUTOTUNE)",
            'dataset = dataset.apply(tf.data.experimental.prefetch_to_device("/GPU:0"))  # the last stage',
        )
    return None
