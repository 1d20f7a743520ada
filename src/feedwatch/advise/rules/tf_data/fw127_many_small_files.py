"""A file is opened for every element."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.tf_data import cheaper, stage_work, tf_look
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import comment, function_name, place
from feedwatch.advise.symptoms import GPU_NO_FASTER, NOTHING_BUSY
from feedwatch.model.verdict import Bound
from feedwatch.words import count, ms, percent

PAGE = """
## What it sees
A stage that opens a file for every element and is the larger part of the pipeline's time.

## Why it costs
Opening a small file costs more than reading it: a lookup, an open, a close, and on network storage a round trip for
each. Reading from front to back is what disks and object stores are fast at.

## Fix
Write the elements into TFRecord files of about 100 MB once, and read those. Keep the label in the record, as a
`tf.train.Example`.

## When to leave it
When the files change between runs, or when the operating system's cache holds all of them and opening costs nothing.

## References
- https://www.tensorflow.org/tutorials/load_data/tfrecord
- https://www.tensorflow.org/guide/data_performance#parallelizing_data_extraction
"""

MOSTLY_WAITING: Final = 0.5
OPENING_MS: Final = 0.25
BEST_LEFT: Final = 0.1
WORST_LEFT: Final = 0.5
# Opening a few large files costs next to nothing. From this many on, opening them is a cost of its own.
LEAST_FILES: Final = 100


@rule(
    PAGE,
    knob="files",
    relieves=Bound.INPUT,
    symptoms=(
        NOTHING_BUSY,
        GPU_NO_FASTER,
    ),
    edit_lines=12,
    needs=(
        "HostFacts.cpu_budget",
        "HostFacts.process_cpus",
        "TfDataFacts.elements_per_batch",
        "TfStage.ms_per_batch",
        "TfStage.opens_files",
    ),
)
def RULE(case: Case) -> Found | None:
    look = tf_look(case)
    if look is None:
        return None
    stage = next((one for one in look.data.stages if one.opens_files and one.ms_per_batch), None)
    elements = look.data.elements_per_batch
    if stage is None or elements is None or look.data.from_memory is True:
        return None
    files, work = look.data.file_count or stage.elements, stage_work(look, stage)
    # Opening a file and decoding it cannot be told apart, except where the CPUs wait for it, or where an element takes
    # no longer than an open and a read: then there is nothing else.
    quick = stage.ms_per_element is not None and stage.ms_per_element <= OPENING_MS
    if files is None or files < LEAST_FILES or (work.wait_ms < MOSTLY_WAITING * work.own_ms and not quick):
        return None
    best, worst = (cheaper(look, stage, left) for left in (BEST_LEFT, WORST_LEFT))
    name = function_name(stage)
    return Found(
        title=f"Pack {count(files, 'file')} into a few large ones",
        says=(
            f"{place(stage)} opens a file for every element, {elements} per batch, which takes "
            f"{ms(work.busy_ms)} per batch, {ms(work.wait_ms)} of it waiting; the step takes {ms(look.plan.step_ms)}."
        ),
        numbers=look.numbers
        | {"reading_ms": work.busy_ms, "files": float(files), "elements_per_batch": float(elements)},
        before=f"dataset = names.map({name})  # opens a file per element{comment(stage)}",
        after=f"""# Once, before training: every element as {name} makes it, labels included, in a few large files.
names.map({name}, num_parallel_calls=tf.data.AUTOTUNE).save("packed")
dataset = tf.data.Dataset.load("packed")""",
        gain=look.supply.gain(
            best,
            f"an estimate: read from front to back, {percent(BEST_LEFT)} to {percent(WORST_LEFT)} of the "
            f"{ms(work.busy_ms)} per batch are left",
            worst=worst,
        ),
        alters=(Alters.ORDER, Alters.CODE),
    )
