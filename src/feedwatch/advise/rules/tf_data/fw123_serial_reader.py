"""FW123: files are read one after the other, and reading is the slowest stage."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.tf_data import TfLook, changed_gain, parallel_lanes, slowest_stage, starved_tf_data
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import comment, place
from feedwatch.advise.symptoms import NOTHING_BUSY, ONE_BUSY_CPU
from feedwatch.model.pipeline import TfStage
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, ms

READERS: Final = {
    "TFRecord": "TFRecordDataset",
    "TextLine": "TextLineDataset",
    "FixedLengthRecord": "FixedLengthRecordDataset",
}
SERIAL_JOINTS: Final = ("Interleave", "FlatMap")


def check(case: Case) -> Evidence | None:
    look = starved_tf_data(case)
    stage = None if look is None else _reader(look)
    lanes = None if look is None else parallel_lanes(case, look.data)
    if look is None or stage is None or lanes is None:
        return None
    files = look.data.file_count
    if files is None or files < 2:
        return None
    lanes = min(files, max(2, lanes))
    return Evidence(
        says=(
            f"{place(stage)} takes {ms(stage.ms_per_batch or 0.0)} per batch and reads one of {count(files, 'file')} "
            f"at a time; the rest of the step takes {ms(look.times.rest_ms)}."
        ),
        numbers={
            "reader_ms": stage.ms_per_batch or 0.0,
            "files": float(files),
            "readers": float(lanes),
            "rest_ms": look.times.rest_ms,
            "wait_ms": look.times.wait_ms,
        },
        blanks={"reader": READERS.get(stage.op, "TFRecordDataset"), "comment": comment(stage)},
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    look = starved_tf_data(case)
    stage = None if look is None else _reader(look)
    if look is None or stage is None:
        return None
    lanes, now_ms = evidence.numbers["readers"], evidence.numbers["reader_ms"]
    because = f"{count(lanes, 'file')} read at once take {ms(now_ms / lanes)} per batch instead of {ms(now_ms)}"
    return changed_gain(case, look, stage, lanes=lanes, left=(1.0, 1.0), because=because)


def _reader(look: TfLook) -> TfStage | None:
    stage = slowest_stage(look.data)
    if stage is None or any(one.op == "ParallelInterleave" for one in look.data.stages):
        return None
    serial = stage.op in READERS or (stage.op in SERIAL_JOINTS and stage.parallelism is None)
    return stage if serial else None


RULE: Final = Rule(
    code="FW123",
    name="serial-reader",
    title="Read several files at once with interleave",
    before="dataset = tf.data.$reader(files)$comment",
    after="""dataset = tf.data.Dataset.from_tensor_slices(files).interleave(
    tf.data.$reader,
    num_parallel_calls=tf.data.AUTOTUNE,
)$comment""",
    page=Page(
        sees=(
            "A reader that opens one file at a time and is the slowest stage of the pipeline, with "
            "several files to read."
        ),
        why=(
            "One stream from a disk or an object store is far slower than several: most of the time is "
            "latency, in which nothing else happens."
        ),
        fix=(
            "Interleave the files: `Dataset.from_tensor_slices(files).interleave(reader, "
            "num_parallel_calls=tf.data.AUTOTUNE)`. Shuffle the file names first, which costs nothing."
        ),
        leave=(
            "When the order of the records over file boundaries matters, or when all data are in one "
            "file: write several first."
        ),
        references=("https://www.tensorflow.org/guide/data_performance#parallelizing_data_extraction",),
    ),
    symptoms=(NOTHING_BUSY, ONE_BUSY_CPU),
    relieves=Bound.INPUT,
    edit_lines=4,
    needs=("HostFacts.cpu_budget", "TfDataFacts.file_count", "TfStage.ms_per_batch"),
    check=check,
    predict=predict,
)
