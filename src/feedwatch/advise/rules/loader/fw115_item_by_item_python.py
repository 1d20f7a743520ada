"""Python puts every item together value by value, again in every epoch."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.plan import Work
from feedwatch.advise.questions.loader import loader_look, with_workers, workers_keep_up
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import identifier
from feedwatch.advise.symptoms import MORE_WORKERS_NO_HELP, ONE_BUSY_CPU
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.pipeline import LoaderFacts
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, percent

PAGE = """
## What it sees
A map-style data set whose items take microseconds to half a millisecond of computing each, without random
augmentation, in a run that waits for them.

## Why it costs
`__getitem__` is called once per item. Converting numbers, looking up columns by name or building small tensors in
Python costs more than the values themselves, and the same work is done again in every epoch.

## Fix
Convert the data once, before training, into tensors with one row per item, and give the data set a `__getitems__`
that indexes a whole batch. The snippet makes this of any data set whose items are numbers or tensors of one shape, or
tuples or dicts of them.

## When to leave it
When the converted data do not fit into memory, when items have different shapes, or when `__getitem__` draws random
numbers: then only the part before the random one can be converted.

## References
- https://pytorch.org/docs/stable/data.html#disable-automatic-batching
- https://github.com/pytorch/pytorch/pull/98316
"""

# Longer ones decode or transform, and are not converted by one line.
LONGEST_MS: Final = 0.6
SLICES_MS: Final = 0.05
LARGER_PART: Final = 0.3
OTHER_SHARE: Final = 0.2
COMPUTES: Final = 0.8
BEST_LEFT: Final = 0.03
WORST_LEFT: Final = 0.2


@rule(
    PAGE,
    knob="items",
    relieves=Bound.INPUT,
    symptoms=(
        ONE_BUSY_CPU,
        MORE_WORKERS_NO_HELP,
    ),
    edit_lines=12,
    needs=("HostFacts.cpu_budget", "LoaderFacts.batch_size"),
)
def RULE(case: Case) -> Found | None:
    look = loader_look(case)
    if look is None or look.loader.iterable or look.loader.batched_getitems or not look.loader.batch_size:
        return None
    loader, size = look.loader, look.loader.batch_size
    item_ms = loader.item_ms if loader.item_ms is not None else look.load_ms / size
    items_ms = look.items.cpu_ms - (loader.collate_ms or 0.0)
    # Short items that compute: what they do is Python around a few values, and the values are in memory.
    if item_ms > LONGEST_MS or look.items.wait_ms > OTHER_SHARE * look.items.own_ms:
        return None
    if loader.in_memory is True and item_ms <= SLICES_MS:
        return None  # FW106: nothing has to be converted
    waits = (look.supply.account.stall_ratio or 0.0) >= THRESHOLDS.bounds_share
    if loader.num_workers and workers_keep_up(look) and not waits:
        return None  # whatever an item takes, training hardly notices
    if loader.random_items is True or not _from_memory(loader) or items_ms < LARGER_PART * look.load_ms:
        return None
    best, worst = (
        with_workers(look, 0, Work("converted items", look.load_ms * left)) for left in (BEST_LEFT, WORST_LEFT)
    )
    data = identifier(loader.dataset_name, "dataset")
    return Found(
        title="Convert the items once, and index whole batches",
        says=(
            f"An item of {data} takes {ms(item_ms)} of Python, {ms(look.load_ms)} for a batch of {size}, again in "
            f"every epoch; the step takes {ms(look.plan.step_ms)}. Workers would have to send every batch to the "
            f"training process."
        ),
        numbers=look.numbers | {"item_ms": item_ms, "batch_size": float(size)},
        before=f"loader = DataLoader(dataset, ...)  # {data}.__getitem__ converts one item at a time",
        after="""class Converted(torch.utils.data.Dataset):
    # Every item is made once, before training; a batch is one indexing operation.
    def __init__(self, source):
        self.length = len(source)
        self.columns = torch.utils.data.default_collate([source[index] for index in range(self.length)])

    def __len__(self):
        return self.length

    def __getitems__(self, indices):
        return self.rows(self.columns, torch.as_tensor(indices))

    def rows(self, columns, indices):
        if isinstance(columns, dict):
            return {key: self.rows(column, indices) for key, column in columns.items()}
        if isinstance(columns, (list, tuple)):
            return [self.rows(column, indices) for column in columns]
        return columns[indices]


def whole_batch(batch):
    return batch


loader = DataLoader(Converted(dataset), ..., num_workers=0, collate_fn=whole_batch)""",
        gain=look.supply.gain(
            best,
            f"an estimate: indexing a converted batch leaves {percent(BEST_LEFT)} to {percent(WORST_LEFT)} of the "
            f"{ms(look.load_ms)} per batch",
            worst=worst,
        ),
        alters=(Alters.CODE,),
    )


def _from_memory(loader: LoaderFacts) -> bool:
    """Nothing of the item is read from a file or a network: it computes, and holds no CPU waiting."""
    return loader.in_memory is True or loader.cpu_share is None or loader.cpu_share >= COMPUTES
