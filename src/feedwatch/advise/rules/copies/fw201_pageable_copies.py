"""FW201: batches are copied from pageable memory, while the device stands still."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.copies import CopyLook, exposed_copies, kind_share
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import loader_call
from feedwatch.advise.step_model import removed_gain
from feedwatch.advise.symptoms import VISIBLE_COPIES
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import ms, percent

MOST_BYTES: Final = 0.5
# Pinned copies were between twice as fast and no faster at all: at worst nothing is gained.
LEAST_REMOVED: Final = 0.0

PREFETCH_TO_DEVICE: Final = 'dataset = dataset.apply(tf.data.experimental.prefetch_to_device("/GPU:0"))'


def check(case: Case) -> Evidence | None:
    look = exposed_copies(case)
    if look is None or not _pageable(case, look):
        return None
    share, loader = kind_share(look, "pageable"), case.facts.pipeline.loader
    source = (
        f"{percent(share)} of the bytes come from pageable memory" if share else "the loader does not pin its batches"
    )
    numbers = {"exposed_ms": look.exposed_ms, "step_ms": look.step_ms, "exposed_share": look.share}
    if share is not None:
        numbers["pageable_share"] = share
    return Evidence(
        says=(
            f"Copies that nothing hides take {ms(look.exposed_ms)} of every {ms(look.step_ms)} step "
            f"({percent(look.share)}), and {source}: the driver has to copy it twice, and the host waits for it."
        ),
        numbers=numbers,
        blanks={
            "before": "dataset = dataset.prefetch(tf.data.AUTOTUNE)" if loader is None else loader_call(loader),
            "after": PREFETCH_TO_DEVICE if loader is None else loader_call(loader, {"pin_memory": True}),
            "how": "prefetch to the device" if loader is None else "pin_memory=True",
        },
    )


def predict(_case: Case, evidence: Evidence) -> Gain | None:
    exposed_ms = evidence.numbers["exposed_ms"]
    because = f"at best none of the {ms(exposed_ms)} of copies per step stays visible; pinning does not always help"
    return removed_gain(evidence.numbers["step_ms"], (exposed_ms, LEAST_REMOVED * exposed_ms), because)


def _pageable(case: Case, look: CopyLook) -> bool:
    share, loader, batch = kind_share(look, "pageable"), case.facts.pipeline.loader, case.facts.batch
    if share is not None:
        return share >= MOST_BYTES
    return loader is not None and not loader.pin_memory and (batch is None or batch.pinned is not True)


RULE: Final = Rule(
    code="FW201",
    name="pageable-copies",
    title="Copy from pinned memory: $how",
    before="$before",
    after="$after",
    page=Page(
        sees=(
            "Exposed host-to-device copies, most of their bytes from pageable memory, or a loader "
            "without `pin_memory` on a CUDA device."
        ),
        why=(
            "The device can only read memory that is pinned. A pageable batch is first copied into a "
            "pinned buffer of the driver, piece by piece, and the host waits until that is done; no "
            "kernel runs meanwhile."
        ),
        fix=(
            "Let the loader pin its batches (`pin_memory=True`); Lightning then copies them with "
            "`non_blocking=True` by itself. With TensorFlow, prefetch to the device, so that the next "
            "batch is copied while the step runs."
        ),
        leave=(
            "When host memory is short, or when batches are so small that pinning costs more than it "
            "saves: try it, and compare."
        ),
        references=(
            "https://pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
            "https://www.tensorflow.org/api_docs/python/tf/data/experimental/prefetch_to_device",
            "https://github.com/tensorflow/tensorflow/issues/44836",
        ),
    ),
    symptoms=(VISIBLE_COPIES,),
    relieves=Bound.TRANSFER,
    edit_lines=1,
    needs=(),
    check=check,
    predict=predict,
)
