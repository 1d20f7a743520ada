"""FW112: items arrive from the loader as device tensors: one small copy per item instead of one per batch."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.loader import starved_loader
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import loader_call
from feedwatch.advise.step_model import serial_gain
from feedwatch.advise.symptoms import LOW_GPU_DATA_READY, SWINGING_GPU
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, ms

# One small copy costs 10 µs of driver call at least, 30 µs with the tensor around it.
LEAST_COPY_MS: Final = 0.01
MOST_COPY_MS: Final = 0.03


def check(case: Case) -> Evidence | None:
    look, device = starved_loader(case), case.facts.run.device_kind
    if look is None or look.loader.device_tensors is not True or device == "cpu":
        return None
    loader = look.loader
    # Data on the device that are indexed in whole batches cannot be loaded faster.
    if loader.batched_getitems or not loader.batch_size or loader.batch_size < 2:
        return None
    copies = loader.batch_size
    return Evidence(
        says=(
            f"The data set hands over tensors that are on the device already: {copies} small copies "
            f"or slices per batch, "
            f"made one after the other, and {ms(look.times.wait_ms)} of waiting per step. Workers cannot share them."
        ),
        numbers={
            "copies_per_batch": float(copies),
            "wait_ms": look.times.wait_ms,
            "step_ms": look.times.step_ms,
        },
        blanks={"device": device, "after": loader_call(loader, {"pin_memory": True})},
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    look = starved_loader(case)
    if look is None:
        return None
    copies, wait_ms = evidence.numbers["copies_per_batch"], look.times.wait_ms
    best, worst = (max(0.0, wait_ms - copies * cost) for cost in (MOST_COPY_MS, LEAST_COPY_MS))
    because = (
        f"{count(copies, 'small copy', 'small copies')} per batch cost {ms(LEAST_COPY_MS)} to {ms(MOST_COPY_MS)} each"
    )
    return serial_gain(look.times, (best, worst), because)


RULE: Final = Rule(
    code="FW112",
    name="device-tensors-in-dataset",
    title="Keep items on the host and copy once per batch",
    before="""def __getitem__(self, index):
    return self.data[index].to("$device")""",
    after="""# In the data set: return self.data[index], without .to("$device"). The Trainer moves the batch.
$after""",
    page=Page(
        sees=(
            "A data set or collate function that returns CUDA tensors through a DataLoader which batches item by item."
        ),
        why=(
            "Every item becomes a copy (or a kernel) of its own, each with its launch cost, and "
            "stacking them is one more. CUDA tensors also cannot come from forked workers, so loading "
            "stays in the training process."
        ),
        fix=(
            "Return host tensors, let the loader pin them (`pin_memory=True`), and let the framework "
            "copy the whole batch, asynchronously. Data small enough to live on the device should be "
            "indexed in whole batches (see FW207)."
        ),
        leave="When the whole data set is on the device and the sampler hands over whole batches of indices.",
        references=("https://pytorch.org/docs/stable/notes/multiprocessing.html#cuda-in-multiprocessing",),
    ),
    symptoms=(LOW_GPU_DATA_READY, SWINGING_GPU),
    relieves=Bound.INPUT,
    edit_lines=2,
    needs=("LoaderFacts.batch_size", "LoaderFacts.device_tensors"),
    check=check,
    predict=predict,
)
