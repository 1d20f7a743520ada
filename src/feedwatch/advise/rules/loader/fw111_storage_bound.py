"""FW111: the workers wait for storage, and adding workers does not make storage faster."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.loader import LoaderLook, load_cpu_ms, load_ms, starved_loader
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.step_model import Supply, cpu_budget, supplied_gain
from feedwatch.advise.symptoms import MORE_WORKERS_NO_HELP, NOTHING_BUSY
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, ms, percent

MOSTLY_BLOCKED: Final = 0.5
# When the CPUs wait this much for the disk, the disk itself is the limit.
DISK_WAIT_SHARE: Final = 0.1
# A cache in memory removes nearly all of the blocking. Larger files or a faster disk remove half of it.
BEST_REMOVED: Final = 0.98
WORST_REMOVED: Final = 0.5


def check(case: Case) -> Evidence | None:
    look, budget = starved_loader(case), cpu_budget(case)
    if look is None or budget is None or look.loader.num_workers < 1 or look.loader.blocked_share is None:
        return None
    load, blocked, disk = load_ms(look), look.loader.blocked_share, case.facts.host.iowait_share
    if load is None or blocked < MOSTLY_BLOCKED:
        return None
    # A few workers that wait for storage are too few workers. Storage is the limit when the disk is busy or the workers
    # are many.
    if load / look.loader.num_workers < look.times.rest_ms:
        return None  # on average they keep up
    disk_busy = disk is not None and disk >= DISK_WAIT_SHARE
    if not disk_busy and look.loader.num_workers < budget:
        return None
    numbers = {
        "load_ms": load,
        "blocked_share": blocked,
        "workers": float(look.loader.num_workers),
        "cpu_budget": budget,
        "rest_ms": look.times.rest_ms,
    }
    if disk is not None:
        numbers["iowait_share"] = disk
    proof = f"; the CPUs idle {percent(disk)} of the time for the disk" if disk is not None and disk_busy else ""
    return Evidence(
        says=(
            f"{count(look.loader.num_workers, 'worker')} spend {percent(blocked)} of the {ms(load)} "
            f"per batch waiting "
            f"for storage or network, not computing{proof}. More workers will not help: read less, or from nearer."
        ),
        numbers=numbers,
        blanks={"data": look.loader.dataset_name or "the data set"},
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    look = starved_loader(case)
    if look is None:
        return None
    load, blocked = evidence.numbers["load_ms"], evidence.numbers["blocked_share"]
    best, worst = (load * (1 - share * blocked) for share in (BEST_REMOVED, WORST_REMOVED))
    because = (
        f"a batch takes {ms(best)} to {ms(worst)} instead of {ms(load)} when {percent(WORST_REMOVED)} or more of the "
        "waiting for storage is gone"
    )
    return supplied_gain(case, look.times, _supply(case, look, best), because, worst=_supply(case, look, worst))


def _supply(case: Case, look: LoaderLook, new_ms: float) -> Supply:
    return Supply(new_ms, look.loader.num_workers, min(new_ms, load_cpu_ms(case, look.loader, new_ms)))


RULE: Final = Rule(
    code="FW111",
    name="storage-bound",
    title="Read from nearer or in larger pieces: the workers wait for storage",
    before="# $data reads every item from storage, every epoch",
    after="""# Once, before training: the same data on a local disk.
import shutil

shutil.copytree(data_dir, local_dir, dirs_exist_ok=True)""",
    page=Page(
        sees=(
            "Workers that spend most of their busy time blocked, not computing, while the disk is busy "
            "or there are as many workers as CPUs."
        ),
        why=(
            "Storage answers so many requests per second and no more. Small random reads over a network "
            "file system are the slowest of all. More workers queue more requests; the answers come no "
            "faster."
        ),
        fix=(
            "Copy the data to a local disk or into memory before training; pack small files into large "
            "ones that are read from front to back (tar shards, TFRecord, LMDB, Parquet); store them "
            "smaller; cache decoded items that fit in memory."
        ),
        leave="When the first epoch is slow and the operating system's cache makes the later ones fast.",
        references=(
            "https://pytorch.org/docs/stable/data.html#dataset-types",
            "https://github.com/webdataset/webdataset",
        ),
    ),
    symptoms=(NOTHING_BUSY, MORE_WORKERS_NO_HELP),
    relieves=Bound.INPUT,
    edit_lines=20,
    needs=("HostFacts.cpu_budget", "LoaderFacts.blocked_share", "LoaderFacts.load_ms"),
    check=check,
    predict=predict,
)
