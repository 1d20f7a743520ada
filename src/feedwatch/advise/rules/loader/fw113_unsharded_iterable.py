"""Every worker yields all items."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.gains import gain
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import identifier
from feedwatch.advise.symptoms import LONG_EPOCHS
from feedwatch.model.verdict import Bound
from feedwatch.words import count, number

PAGE = """
## What it sees
An `IterableDataset` whose workers yield the same items.

## Why it costs
Every worker gets a copy of the data set object and iterates over all of it. Without sharding an epoch is as many
times too long as there are workers, and the model sees every item that often.

## Fix
Let `__iter__` ask `get_worker_info()` and take every n-th item or file. With several ranks, shard over ranks times
workers.

## When to leave it
When every worker draws at random from an endless stream, with its own seed, on purpose.

## References
- https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset
"""

# Starting the workers and the first batch take as long as now.
LEAST_SAVED: Final = 1.4


@rule(
    PAGE,
    knob="shards",
    relieves=Bound.INPUT,
    symptoms=(LONG_EPOCHS,),
    edit_lines=3,
    needs=("LoaderFacts.iterable", "LoaderFacts.workers_repeat_items"),
)
def RULE(case: Case) -> Found | None:
    loader, account = case.facts.pipeline.loader, case.account
    if account is None or loader is None or not loader.iterable or loader.num_workers < 2:
        return None
    if loader.workers_repeat_items is not True:
        return None
    copies, data = loader.num_workers, identifier(loader.dataset_name, "Data")
    return Found(
        title="Give every worker its own part of the data",
        says=(
            f"{count(copies, 'worker')} yielded the same items: each runs the whole of "
            f"{loader.dataset_name or 'the iterable data set'}, so an epoch sees every item {copies} times."
        ),
        numbers={"workers": float(copies), "copies_per_item": float(copies)},
        before=f"class {data}(IterableDataset):\n    def __iter__(self):\n        yield from self.items",
        after=f"""class {data}(IterableDataset):
    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        first, stride = (0, 1) if worker is None else (worker.id, worker.num_workers)
        yield from itertools.islice(self.items, first, None, stride)""",
        gain=gain(
            1.0,
            1 / copies,
            LEAST_SAVED / copies,
            f"of an epoch, not of a step: every item is read, and trained on, {number(copies)} times now",
        ),
        alters=(Alters.ORDER, Alters.CODE),
    )
