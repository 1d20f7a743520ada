"""FW204: more bytes are copied than the values need."""

from typing import Final, NamedTuple

from feedwatch.advise.case import Case
from feedwatch.advise.questions.copies import exposed_copies
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.step_model import removed_gain
from feedwatch.advise.symptoms import VISIBLE_COPIES
from feedwatch.model.facts import BatchFacts
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import ms, percent, size

MOST_BYTES: Final = 0.5
WIDTHS: Final = {"float64": 8, "float32": 4}
# The cast on the device and the fixed cost of a copy take a quarter of what the smaller copy saves.
LEAST_OF_SAVING: Final = 0.75


class Narrowing(NamedTuple):
    wide: str
    narrow: str
    saved_share: float  # of all bytes of the batch


def check(case: Case) -> Evidence | None:
    look, batch = exposed_copies(case), case.facts.batch
    narrowing = None if batch is None else _narrowing(batch, case.facts.run.precision)
    if look is None or batch is None or narrowing is None:
        return None
    return Evidence(
        says=(
            f"A batch is {size(batch.size_bytes)}, most of it {narrowing.wide} that fits in {narrowing.narrow}: "
            f"{percent(narrowing.saved_share)} of the bytes need not be copied. Visible copies take "
            f"{ms(look.exposed_ms)} of every {ms(look.step_ms)} step."
        ),
        numbers={
            "batch_bytes": float(batch.size_bytes),
            "saved_share": narrowing.saved_share,
            "exposed_ms": look.exposed_ms,
            "step_ms": look.step_ms,
        },
        blanks={"wide": narrowing.wide, "narrow": narrowing.narrow},
    )


def predict(_case: Case, evidence: Evidence) -> Gain | None:
    saved_ms = evidence.numbers["exposed_ms"] * evidence.numbers["saved_share"]
    because = f"{percent(evidence.numbers['saved_share'])} fewer bytes save up to {ms(saved_ms)} of copies per step"
    return removed_gain(evidence.numbers["step_ms"], (saved_ms, LEAST_OF_SAVING * saved_ms), because)


def _narrowing(batch: BatchFacts, precision: str | None) -> Narrowing | None:
    wide = max(WIDTHS, key=lambda name: batch.dtypes.get(name, 0))
    share = batch.dtypes.get(wide, 0) / batch.size_bytes if batch.size_bytes else 0.0
    if share < MOST_BYTES:
        return None
    if batch.integral_floats is True:
        return Narrowing(wide, "uint8", share * (1 - 1 / WIDTHS[wide]))
    if wide == "float64":
        return Narrowing(wide, "float32", share / 2)
    # Values that the model rounds to half precision anyway may travel in it.
    if precision is not None and "16" in precision:
        return Narrowing(wide, "bfloat16" if "bf" in precision else "float16", share / 2)
    return None


RULE: Final = Rule(
    code="FW204",
    name="wide-input-dtype",
    title="Copy $narrow instead of $wide, and cast on the device",
    before="batch = images  # $wide",
    after="""# In the data set: leave the images in $narrow. In the model, on the device:
images = images.float()  # keras: keras.layers.Rescaling(1 / 255) as the first layer""",
    page=Page(
        sees=(
            "Visible copies of float32 or float64 batches whose values a uint8 or a half-precision "
            "number holds as well."
        ),
        why=(
            "Images are bytes. As float32 they are four times, as float64 eight times as large, on the "
            "disk cache, between the processes and over the link. Casting on the device takes "
            "microseconds."
        ),
        fix="Keep the narrow type until the batch is on the device, and cast and scale there.",
        leave="When the values really need the wide type.",
        references=("https://keras.io/api/layers/preprocessing_layers/image_preprocessing/rescaling/",),
    ),
    symptoms=(VISIBLE_COPIES,),
    relieves=Bound.TRANSFER,
    edit_lines=2,
    needs=("BatchFacts.dtypes", "Facts.transfers"),
    check=check,
    predict=predict,
)
