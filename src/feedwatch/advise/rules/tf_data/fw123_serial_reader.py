"""Files are read one after the other, and reading is the slowest stage."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.tf_data import parallel, parallel_calls, slowest, stage_work, tf_look
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import comment, place
from feedwatch.advise.symptoms import NOTHING_BUSY, ONE_BUSY_CPU
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms

PAGE = """
## What it sees
A reader that opens one file at a time and is the slowest stage of the pipeline, with several files to read.

## Why it costs
One stream from a disk or an object store is far slower than several: most of the time is latency, in which nothing
else happens.

## Fix
Interleave the files: `Dataset.from_tensor_slices(files).interleave(reader, num_parallel_calls=tf.data.AUTOTUNE)`.
Shuffle the file names first, which costs nothing.

## When to leave it
When the order of the records over file boundaries matters, or when all data are in one file: write several first.

## References
- https://www.tensorflow.org/guide/data_performance#parallelizing_data_extraction
"""

READERS: Final = {
    "TFRecord": "TFRecordDataset",
    "TextLine": "TextLineDataset",
    "FixedLengthRecord": "FixedLengthRecordDataset",
}
SERIAL_JOINTS: Final = ("Interleave", "FlatMap")


@rule(
    PAGE,
    knob="readers",
    relieves=Bound.INPUT,
    symptoms=(
        NOTHING_BUSY,
        ONE_BUSY_CPU,
    ),
    edit_lines=4,
    needs=("HostFacts.cpu_budget", "TfDataFacts.file_count", "TfStage.ms_per_batch"),
)
def RULE(case: Case) -> Found | None:
    look = tf_look(case)
    stage = None if look is None else slowest(look)
    if look is None or stage is None or any(one.op == "ParallelInterleave" for one in look.data.stages):
        return None
    serial = stage.op in READERS or (stage.op in SERIAL_JOINTS and stage.parallelism is None)
    files = look.data.file_count
    if not serial or files is None or files < 2:
        return None
    readers = min(files, max(2, parallel_calls(look)))
    plan, work, reader = (
        parallel(look, stage, readers),
        stage_work(look, stage),
        READERS.get(stage.op, "TFRecordDataset"),
    )
    return Found(
        title="Read several files at once with interleave",
        says=(
            f"{place(stage)} takes {ms(work.busy_ms)} per batch and reads one of {count(files, 'file')} at a time; the "
            f"step takes {ms(look.plan.step_ms)}."
        ),
        numbers=look.numbers | {"reader_ms": work.busy_ms, "files": float(files), "readers": float(readers)},
        before=f"dataset = tf.data.{reader}(files){comment(stage)}",
        after=f"""dataset = tf.data.Dataset.from_tensor_slices(files).interleave(
    tf.data.{reader},
    num_parallel_calls=tf.data.AUTOTUNE,
){comment(stage)}""",
        gain=look.supply.gain(
            plan, f"{count(readers, 'file')} read at once take {ms(work.busy_ms / readers)} per batch"
        ),
        alters=(Alters.ORDER,),
    )
