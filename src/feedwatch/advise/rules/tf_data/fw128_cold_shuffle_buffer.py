"""FW128: every epoch begins by filling the shuffle buffer."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import comment
from feedwatch.advise.step_model import run_gain, step_times
from feedwatch.advise.symptoms import PAUSE_PER_EPOCH, SLOW_START
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.pipeline import TfDataFacts, TfStage
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import number, percent, seconds

# The advised buffer holds this many batches. A buffer that is no larger gets no advice.
ADVISED_BATCHES: Final = 8
# A smaller buffer leaves elements to be made later, while steps run. Where the steps do not hide that, less is saved.
LEAST_SAVED: Final = 0.3


def check(case: Case) -> Evidence | None:
    data, joints, times = case.facts.pipeline.tf_data, case.boundaries, step_times(case)
    wall_s = case.counts.wall_s
    if data is None or times is None or wall_s <= 0 or joints.count < 1 or joints.first_fetch_ms is None:
        return None
    shuffle, elements = _cold_shuffle(data), data.elements_per_batch
    if shuffle is None or shuffle.buffer_size is None or not elements:
        return None
    if shuffle.buffer_size <= ADVISED_BATCHES * elements:
        return None
    fill_s = max(0.0, joints.first_fetch_ms - times.wait_ms) / 1000
    # The first epoch fills the buffer as well, although no epoch boundary comes before it.
    share = min(1.0, fill_s * (joints.count + 1) / wall_s)
    if share < THRESHOLDS.worth_saying_share:
        return None
    smaller = ADVISED_BATCHES * elements
    return Evidence(
        says=(
            f"Every epoch waits {seconds(fill_s)} for its first batch: {shuffle.buffer_size} elements "
            f"have to be made "
            f"before the shuffle gives out the first one. That is {percent(share)} of this run."
        ),
        numbers={
            "fill_s": fill_s,
            "boundaries": float(joints.count),
            "share": share,
            "buffer_size": float(shuffle.buffer_size),
            "buffer_size_advised": float(smaller),
            "elements_per_batch": float(elements),
        },
        blanks={
            "buffer": str(shuffle.buffer_size),
            "smaller": str(smaller),
            "comment": comment(shuffle),
        },
    )


def predict(_case: Case, evidence: Evidence) -> Gain | None:
    numbers = evidence.numbers
    saved = numbers["share"] * (1 - numbers["buffer_size_advised"] / numbers["buffer_size"])
    because = (
        f"of the whole run: a buffer of {number(numbers['buffer_size_advised'])} instead of "
        f"{number(numbers['buffer_size'])} elements saves up to {percent(saved)} of the time so far"
    )
    return run_gain((saved, LEAST_SAVED * saved), because)


def _cold_shuffle(data: TfDataFacts) -> TfStage | None:
    """A shuffle that stands behind work. A shuffle of file names or numbers fills in no time."""
    working = False
    for stage in data.stages:
        if stage.op in ("Shuffle", "ShuffleAndRepeat"):
            return stage if working else None
        # Elements from a cache take no time, whatever work stands before it.
        working = (working or stage.op in _WORK) and stage.op != "Cache"
    return None


_WORK: Final = (
    "Map",
    "ParallelMap",
    "TFRecord",
    "TextLine",
    "Interleave",
    "ParallelInterleave",
    "FlatMap",
    "FromGenerator",
)

RULE: Final = Rule(
    code="FW128",
    name="cold-shuffle-buffer",
    title="Shuffle before the heavy work, or with a smaller buffer than $buffer",
    before="dataset = dataset.shuffle($buffer)$comment",
    after="dataset = dataset.shuffle($smaller)  # or .shuffle($buffer) on the file names, before the heavy map$comment",
    page=Page(
        sees=("A stall at the start of every epoch in a pipeline that shuffles elements which are expensive to make."),
        why=(
            "`shuffle(n)` gives out its first element only when n elements are there. Behind a decode "
            "or an augmentation, that is n times the work, at the start of every epoch, while the "
            "device waits."
        ),
        fix=(
            "Move `shuffle` before the heavy map, where elements are file names or numbers and a buffer "
            "as large as the data set costs nothing. Or make the buffer smaller and shuffle the names "
            "of the files as well."
        ),
        leave="When the pause is short against the epoch and the data really need to be mixed after the map.",
        references=("https://www.tensorflow.org/api_docs/python/tf/data/Dataset#shuffle",),
    ),
    symptoms=(PAUSE_PER_EPOCH, SLOW_START),
    relieves=Bound.UNKNOWN,
    edit_lines=1,
    needs=(
        "EpochBoundaries.count",
        "EpochBoundaries.first_fetch_ms",
        "TfDataFacts.elements_per_batch",
        "TfStage.buffer_size",
    ),
    check=check,
    predict=predict,
)
