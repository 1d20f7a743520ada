"""FW113: every worker yields the whole data set."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import identifier
from feedwatch.advise.step_model import run_gain, step_times
from feedwatch.advise.symptoms import LONG_EPOCHS
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, number

# Shorter epochs fill their queues more often, which takes a tenth at worst.
LEAST_SAVED: Final = 0.9


def check(case: Case) -> Evidence | None:
    loader = case.facts.pipeline.loader
    if case.run is None or loader is None or not loader.iterable or loader.num_workers < 2:
        return None
    if loader.workers_repeat_items is not True:
        return None
    return Evidence(
        says=(
            f"{count(loader.num_workers, 'worker')} yielded the same items: each runs the whole of "
            f"{loader.dataset_name or 'the iterable data set'}, so an epoch sees every item "
            f"{loader.num_workers} times."
        ),
        numbers={"workers": float(loader.num_workers), "copies_per_item": float(loader.num_workers)},
        blanks={"data": identifier(loader.dataset_name, "Data")},
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    copies, times, wall_s = evidence.numbers["copies_per_item"], step_times(case), case.counts.wall_s
    if times is None or wall_s <= 0:
        return None
    # At worst only the steps become fewer; starting workers and the first step take as long as now.
    steps_share = min(1.0, case.counts.batches * times.step_ms / 1000 / wall_s)
    saved = 1 - 1 / copies
    because = f"of an epoch, not of a step: every item is read, and trained on, {number(copies)} times now"
    return run_gain((saved, LEAST_SAVED * steps_share * saved), because)


RULE: Final = Rule(
    code="FW113",
    name="unsharded-iterable",
    title="Give every worker its own part of the data",
    before="""class $data(IterableDataset):
    def __iter__(self):
        yield from self.items""",
    after="""class $data(IterableDataset):
    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        first, stride = (0, 1) if worker is None else (worker.id, worker.num_workers)
        yield from itertools.islice(self.items, first, None, stride)""",
    page=Page(
        sees="An `IterableDataset` whose workers yield the same items.",
        why=(
            "Every worker gets a copy of the data set object and iterates over all of it. Without "
            "sharding an epoch is as many times too long as there are workers, and the model sees every "
            "item that often."
        ),
        fix=(
            "Let `__iter__` ask `get_worker_info()` and take every n-th item or file. With several "
            "ranks, shard over ranks times workers."
        ),
        leave="When every worker draws at random from an endless stream, with its own seed, on purpose.",
        references=("https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset",),
    ),
    symptoms=(LONG_EPOCHS,),
    relieves=Bound.UNKNOWN,
    edit_lines=3,
    needs=("LoaderFacts.iterable", "LoaderFacts.workers_repeat_items"),
    check=check,
    predict=predict,
)
