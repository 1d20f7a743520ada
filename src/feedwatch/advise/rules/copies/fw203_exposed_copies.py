"""FW203: copies are pinned and asynchronous, yet the device waits for each of them."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.copies import CopyLook, exposed_copies, kind_share
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.step_model import removed_gain
from feedwatch.advise.symptoms import VISIBLE_COPIES
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import ms, percent

MOST_BYTES: Final = 0.5
# When this share of the copy time is hidden, the copies already run beside kernels.
HIDDEN_ENOUGH: Final = 0.5
# Copies and kernels share the device's memory and slow each other down. At worst half of the copy time is won back.
LEAST_REMOVED: Final = 0.5

TORCH: Final = """class CopyAhead:
    \"\"\"Copies the next batch on a stream of its own while the step runs.\"\"\"

    def __init__(self, loader, device):
        self.loader, self.device = loader, torch.device(device)

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        stream, ready = torch.cuda.Stream(self.device), None
        for batch in self.loader:
            with torch.cuda.stream(stream):
                copied = [value.to(self.device, non_blocking=True) for value in batch]
            if ready is not None:
                yield ready
            torch.cuda.current_stream(self.device).wait_stream(stream)
            for value in copied:
                value.record_stream(torch.cuda.current_stream(self.device))
            ready = copied
        if ready is not None:
            yield ready"""
TENSORFLOW: Final = """dataset = dataset.apply(tf.data.experimental.copy_to_device("/GPU:0"))
dataset = dataset.prefetch(2)  # after the copy: batches wait on the device"""


def check(case: Case) -> Evidence | None:
    look = exposed_copies(case)
    if look is None or look.device is None or look.device.hidden_share is None or not _pinned(case, look):
        return None
    hidden = look.device.hidden_share
    if hidden >= HIDDEN_ENOUGH:
        return None
    tensorflow = case.facts.run.backend == "tensorflow"
    return Evidence(
        says=(
            f"Copies come from pinned memory, but only {percent(hidden)} of their time runs beside a kernel: "
            f"{ms(look.exposed_ms)} of every {ms(look.step_ms)} step ({percent(look.share)}) the device only copies."
        ),
        numbers={
            "exposed_ms": look.exposed_ms,
            "step_ms": look.step_ms,
            "exposed_share": look.share,
            "hidden_share": hidden,
        },
        blanks={"after": TENSORFLOW if tensorflow else TORCH},
    )


def predict(_case: Case, evidence: Evidence) -> Gain | None:
    exposed_ms = evidence.numbers["exposed_ms"]
    because = (
        f"copied one batch ahead, {ms(LEAST_REMOVED * exposed_ms)} to {ms(exposed_ms)} per step run beside kernels"
    )
    return removed_gain(evidence.numbers["step_ms"], (exposed_ms, LEAST_REMOVED * exposed_ms), because)


def _pinned(case: Case, look: CopyLook) -> bool:
    share, batch = kind_share(look, "pinned"), case.facts.batch
    return (share is not None and share >= MOST_BYTES) or (batch is not None and batch.pinned is True)


RULE: Final = Rule(
    code="FW203",
    name="exposed-copies",
    title="Copy one batch ahead, beside the step",
    before="# the batch is copied on the stream that computes: first the copy, then the kernels",
    after="$after",
    page=Page(
        sees="Copies from pinned memory of which less than half of the time is hidden behind kernels.",
        why=(
            "A copy on the stream that computes runs before the kernels of its step, not beside those "
            "of the step before. The device has engines of its own for copies; they stand idle."
        ),
        fix=(
            "Copy the next batch on a second stream while the current step runs. With TensorFlow, "
            "`copy_to_device` followed by `prefetch`."
        ),
        leave="When device memory is short: one more batch has to fit.",
        references=(
            "https://pytorch.org/docs/stable/notes/cuda.html#cuda-streams",
            "https://www.tensorflow.org/api_docs/python/tf/data/experimental/copy_to_device",
        ),
    ),
    symptoms=(VISIBLE_COPIES,),
    relieves=Bound.TRANSFER,
    edit_lines=20,
    needs=("Facts.transfers",),
    check=check,
    predict=predict,
)
