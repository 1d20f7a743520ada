"""FW104: workers are started again for every epoch."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import loader_call
from feedwatch.advise.step_model import run_gain
from feedwatch.advise.symptoms import PAUSE_PER_EPOCH
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, percent, seconds

# Workers that stay still have to fill their queues in every epoch. Which part of the pause that is cannot be measured.
LEAST_SAVED: Final = 0.6
# Ending workers takes about as long as starting them, and happens in the same gap between the epochs.
MOST_SAVED: Final = 2.0
# A fork makes the pages of the training process copy-on-write, and starting workers takes CPUs from the first steps:
# the steps themselves were 1 to 6 % shorter without restarts (four comparisons). At best that is gained too.
DISTURBED_SHARE: Final = 0.06


def check(case: Case) -> Evidence | None:
    loader, joints, wall_s = case.facts.pipeline.loader, case.boundaries, case.counts.wall_s
    if loader is None or loader.num_workers < 1 or loader.persistent_workers or wall_s <= 0:
        return None
    if joints.count < 1 or joints.loader_start_ms is None:
        return None
    # The first batch of an epoch has to be loaded in any case. Only the time beyond that is the restart.
    first_ms = max(0.0, (joints.first_fetch_ms or 0.0) - (loader.load_ms or 0.0))
    restart_s = (joints.loader_start_ms + first_ms) / 1000
    gap_s = (joints.median_ms or 0.0) / 1000
    share = min(1.0, restart_s * joints.count / wall_s)
    if share < THRESHOLDS.worth_saying_share:
        return None
    method = f" ({loader.start_method})" if loader.start_method else ""
    return Evidence(
        says=(
            f"Starting {count(loader.num_workers, 'worker')}{method} costs {seconds(restart_s)} at "
            f"the start of every "
            f"epoch, {percent(share)} of this run over "
            f"{count(joints.count, 'epoch boundary', 'epoch boundaries')}: they are thrown away "
            "and started again."
        ),
        numbers={
            "restart_s": restart_s,
            "boundaries": float(joints.count),
            "share": share,
            "most_share": min(1.0, max(restart_s, min(gap_s, MOST_SAVED * restart_s)) * joints.count / wall_s),
            "workers": float(loader.num_workers),
        },
        blanks={
            "before": loader_call(loader),
            "after": loader_call(loader, {"persistent_workers": True}),
        },
    )


def predict(_case: Case, evidence: Evidence) -> Gain | None:
    share, restart_s = evidence.numbers["share"], evidence.numbers["restart_s"]
    because = f"of the whole run: {seconds(restart_s)} or more per epoch, {percent(share)} of the time so far"
    most = evidence.numbers["most_share"]
    return run_gain((most + DISTURBED_SHARE * (1 - most), LEAST_SAVED * share), because)


RULE: Final = Rule(
    code="FW104",
    name="workers-restart-each-epoch",
    title="Keep the workers: persistent_workers=True",
    before="$before",
    after="$after",
    page=Page(
        sees=(
            "A stall at the start of every epoch that is the start of the DataLoader's workers, with "
            "`persistent_workers` off."
        ),
        why=(
            "Without `persistent_workers` every epoch forks (or spawns, and then imports everything "
            "again in) all workers and fills their queues from nothing. With spawn that is several "
            "seconds per epoch, whatever the length of the epoch."
        ),
        fix=(
            "Pass `persistent_workers=True`. Seconds per epoch, not a share of the step: the shorter "
            "the epoch, the larger the gain."
        ),
        leave=(
            "When the data set object is changed between epochs (a new file list, a curriculum): "
            "workers that stay alive keep their old copy."
        ),
        references=(
            "https://pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader",
            "https://github.com/pytorch/pytorch/issues/23662",
        ),
    ),
    symptoms=(PAUSE_PER_EPOCH,),
    relieves=Bound.UNKNOWN,
    edit_lines=1,
    needs=("EpochBoundaries.count", "EpochBoundaries.loader_start_ms", "PipelineFacts.loader"),
    check=check,
    predict=predict,
)
