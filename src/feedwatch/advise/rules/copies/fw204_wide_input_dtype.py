"""FW204: more bytes are copied than the values need."""

from typing import Final, NamedTuple

from feedwatch.advise.case import Case
from feedwatch.advise.gains import removed
from feedwatch.advise.questions.copies import exposed_copies
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.symptoms import VISIBLE_COPIES
from feedwatch.model.facts import BatchFacts
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, percent, size

MOST_BYTES: Final = 0.5
WIDTHS: Final = {"float64": 8, "float32": 4}
# The cast on the device and the fixed cost of a copy take a quarter of what the smaller copy saves.
LEAST_OF_SAVING: Final = 0.75

TORCH: Final = """# In the data set: leave the images in {narrow}. In the model, on the device:
images = images.float()"""
KERAS: Final = """# In the data set: leave the images in {narrow}. In the model, on the device:
images = keras.ops.cast(images, "float32")  # or keras.layers.Rescaling(...) as the first layer"""

PAGE: Final = """
## What it sees
Visible copies of float32 or float64 batches whose values a uint8 or a half-precision number holds as well.

## Why it costs
Images are bytes. As float32 they are four times, as float64 eight times as large, on the disk cache, between the
processes and over the link. Casting on the device takes microseconds.

## Fix
Keep the narrow type until the batch is on the device, and cast and scale there.

## When to leave it
When the values really need the wide type.

## References
- https://keras.io/api/layers/preprocessing_layers/image_preprocessing/rescaling/
"""


class Narrowing(NamedTuple):
    wide: str
    narrow: str
    saved_share: float  # of all bytes of the batch

    @property
    def exact(self) -> bool:
        return self.narrow == "uint8"


@rule(
    PAGE,
    knob="input_dtype",
    relieves=Bound.TRANSFER,
    symptoms=(VISIBLE_COPIES,),
    edit_lines=2,
    needs=("BatchFacts.dtypes", "Facts.transfers"),
)
def RULE(case: Case) -> Found | None:
    look, batch = exposed_copies(case), case.facts.batch
    narrowing = None if batch is None else _narrowing(batch, case.facts.run.precision)
    if look is None or batch is None or narrowing is None:
        return None
    wide, narrow, saved_share = narrowing
    saved_ms = look.exposed_ms * saved_share
    because = f"{percent(saved_share)} fewer bytes save {ms(LEAST_OF_SAVING * saved_ms)} to {ms(saved_ms)} per batch"
    code = KERAS if case.facts.run.framework in ("keras", "tensorflow", "jax") else TORCH
    return Found(
        title=f"Copy {narrow} instead of {wide}, and cast on the device",
        says=(
            f"A batch is {size(batch.size_bytes)}, most of it {wide} that fits in {narrow}: {percent(saved_share)} of "
            f"the bytes need not be copied. Visible copies take {ms(look.exposed_ms)} of the {ms(look.batch_ms)} per "
            "batch."
        ),
        numbers={
            "batch_bytes": float(batch.size_bytes),
            "saved_share": saved_share,
            "exposed_ms": look.exposed_ms,
            "batch_ms": look.batch_ms,
        },
        before=f"images = images  # {wide}",
        after=code.format(narrow=narrow),
        gain=removed(look.account, saved_ms, LEAST_OF_SAVING * saved_ms, because),
        alters=(Alters.CODE,) if narrowing.exact else (Alters.CODE, Alters.PRECISION),
    )


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
