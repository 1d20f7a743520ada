"""FW127: a file is opened for every element."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.tf_data import (
    DOMINANT_SHARE,
    TfLook,
    changed_gain,
    lane_ms,
    lanes,
    stage_share,
    starved_tf_data,
)
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import function_name, place
from feedwatch.advise.symptoms import GPU_NO_FASTER, NOTHING_BUSY
from feedwatch.model.pipeline import TfStage
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, ms, percent

# Records that follow one another need no open, no seek and no close: at best next to nothing of the time is left. At
# worst nearly all of it is: files in the system's cache open nearly as fast as records are read, and decoding stays.
BEST_LEFT: Final = 0.05
WORST_LEFT: Final = 0.95
# Opening a few large files costs next to nothing. From this many on, opening them is a cost of its own.
LEAST_FILES: Final = 100


def check(case: Case) -> Evidence | None:
    look = starved_tf_data(case)
    stage = None if look is None else _opening(look)
    if look is None or stage is None:
        return None
    share, files, elements = stage_share(look.data, stage), _files(look, stage), look.data.elements_per_batch
    if share is None or share < DOMINANT_SHARE or files is None or files < LEAST_FILES or elements is None:
        return None
    return Evidence(
        says=(
            f"{place(stage)} opens a file for every element, {elements} per batch: {ms(lane_ms(stage))} per batch, "
            f"{percent(share)} of the pipeline's time; the rest of the step takes {ms(look.times.rest_ms)}."
        ),
        numbers={
            "reading_ms": lane_ms(stage),
            "share": share,
            "files": float(files),
            "elements_per_batch": float(elements),
            "rest_ms": look.times.rest_ms,
            "wait_ms": look.times.wait_ms,
        },
        blanks={"function": function_name(stage), "files": count(files, "file")},
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    look = starved_tf_data(case)
    stage = None if look is None else _opening(look)
    if look is None or stage is None:
        return None
    because = (
        f"records read from front to back leave {percent(BEST_LEFT)} to {percent(WORST_LEFT)} of the "
        f"{ms(evidence.numbers['reading_ms'])} per batch, depending on how much of it is decoding"
    )
    return changed_gain(case, look, stage, lanes=lanes(stage), left=(BEST_LEFT, WORST_LEFT), because=because)


def _opening(look: TfLook) -> TfStage | None:
    return next((stage for stage in look.data.stages if stage.opens_files and stage.ms_per_batch), None)


def _files(look: TfLook, stage: TfStage) -> int | None:
    return look.data.file_count if look.data.file_count is not None else stage.elements


RULE: Final = Rule(
    code="FW127",
    name="many-small-files",
    title="Pack $files into TFRecord shards",
    before="dataset = files.map($function)  # opens a file per element",
    after="""# Once, before training:
with tf.io.TFRecordWriter("train.tfrecord") as writer:
    for path in files:
        writer.write(tf.io.read_file(path).numpy())

# In the pipeline, with $function taking the bytes instead of the path:
dataset = tf.data.TFRecordDataset("train.tfrecord").map($function, num_parallel_calls=tf.data.AUTOTUNE)""",
    page=Page(
        sees="A stage that opens a file for every element and is the larger part of the pipeline's time.",
        why=(
            "Opening a small file costs more than reading it: a lookup, an open, a close, and on "
            "network storage a round trip for each. Reading from front to back is what disks and object "
            "stores are fast at."
        ),
        fix=(
            "Write the elements into TFRecord files of about 100 MB once, and read those. Keep the "
            "label in the record, as a `tf.train.Example`."
        ),
        leave=(
            "When the files change between runs, or when the operating system's cache holds all of them "
            "and opening costs nothing."
        ),
        references=(
            "https://www.tensorflow.org/tutorials/load_data/tfrecord",
            "https://www.tensorflow.org/guide/data_performance#parallelizing_data_extraction",
        ),
    ),
    symptoms=(NOTHING_BUSY, GPU_NO_FASTER),
    relieves=Bound.INPUT,
    edit_lines=12,
    needs=("TfDataFacts.elements_per_batch", "TfStage.ms_per_batch", "TfStage.opens_files"),
    check=check,
    predict=predict,
)
