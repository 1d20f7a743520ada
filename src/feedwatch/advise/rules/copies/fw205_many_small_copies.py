"""FW205: many small copies, each with its own latency."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.copies import exposed_copies
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.step_model import removed_gain
from feedwatch.advise.symptoms import VISIBLE_COPIES
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, ms, number, size

# Below 64 KiB a copy takes as long as its latency, whatever its size.
SMALL_BYTES: Final = 65536
# A framework's own scalars are a handful per step; this many tensors are the user's.
MANY_TENSORS: Final = 16
# Launching a copy costs 5-10 µs on the device's side.
LEAST_LATENCY_MS: Final = 0.005


def check(case: Case) -> Evidence | None:
    look, batch = exposed_copies(case), case.facts.batch
    if look is None or look.device is None or batch is None or look.steps <= 0 or look.device.copies.count <= 0:
        return None
    copies = look.device.copies
    per_step, mean_bytes = copies.count / look.steps, copies.size_bytes / copies.count
    if batch.tensors < MANY_TENSORS or per_step < batch.tensors or mean_bytes >= SMALL_BYTES:
        return None
    return Evidence(
        says=(
            f"A batch consists of {batch.tensors} tensors, copied one by one: {count(per_step, 'copy', 'copies')} "
            f"of {size(mean_bytes)} per "
            f"step. Each costs its latency, {ms(look.exposed_ms)} of every {ms(look.step_ms)} step together."
        ),
        numbers={
            "tensors": float(batch.tensors),
            "copies_per_step": per_step,
            "bytes_per_copy": mean_bytes,
            "exposed_ms": look.exposed_ms,
            "step_ms": look.step_ms,
        },
        blanks={"tensors": str(batch.tensors)},
    )


def predict(_case: Case, evidence: Evidence) -> Gain | None:
    numbers = evidence.numbers
    most_ms = numbers["exposed_ms"] * (1 - 1 / numbers["copies_per_step"])
    least_ms = min(most_ms, (numbers["copies_per_step"] - 1) * LEAST_LATENCY_MS)
    because = (
        f"one copy instead of {number(numbers['copies_per_step'])} saves their latency, {ms(least_ms)} to "
        f"{ms(most_ms)} per step"
    )
    return removed_gain(numbers["step_ms"], (most_ms, least_ms), because)


RULE: Final = Rule(
    code="FW205",
    name="many-small-copies",
    title="Pack the $tensors tensors of a batch into one",
    before="batch = {name: value.to(device) for name, value in batch.items()}  # $tensors copies",
    after="""# In collate: one tensor, and where each part of it begins.
names = list(batch)
packed = torch.cat([batch[name].reshape(len(batch[name]), -1) for name in names], dim=1)
widths = [batch[name][0].numel() for name in names]
# On the device, after one copy: views, no further copies.
parts = dict(zip(names, packed.to(device, non_blocking=True).split(widths, dim=1)))""",
    page=Page(
        sees=("Batches of many small tensors, copied one by one, with copies that cost a visible part of the step."),
        why=(
            "A copy below 64 KiB takes as long as its latency, about ten microseconds, whatever its "
            "size. A hundred of them cost a millisecond per step, for data that one copy would carry in "
            "the same ten microseconds."
        ),
        fix=(
            "Concatenate the parts of the batch in the collate function, copy once, and take views of it on the device."
        ),
        leave="When the parts have different types and most of the bytes are in one of them already.",
        references=("https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#data-transfer-between-host-and-device",),
    ),
    symptoms=(VISIBLE_COPIES,),
    relieves=Bound.TRANSFER,
    edit_lines=8,
    needs=("Facts.batch", "Facts.transfers"),
    check=check,
    predict=predict,
)
