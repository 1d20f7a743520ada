"""Items that are in memory are taken one by one and stacked again."""

from feedwatch.advise.case import Case
from feedwatch.advise.plan import Work
from feedwatch.advise.questions.loader import LONGEST_SLICE_MS, loader_look, with_workers
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import identifier
from feedwatch.advise.symptoms import GPU_NO_FASTER, MORE_WORKERS_NO_HELP, ONE_BUSY_CPU
from feedwatch.model.verdict import Bound
from feedwatch.words import ms

PAGE = """
## What it sees
A data set of tensors or arrays that are in memory already, read item by item, in a run that waits for its input.

## Why it costs
Per item there is a call of `__getitem__`, a small tensor, a list, and at the end `torch.stack` over all of them:
microseconds of Python for nanoseconds of copying. With workers the batch also travels between processes. On small
rows direct indexing is a hundred times faster, with or without workers.

## Fix
Let the sampler produce lists of indices and index the tensors once per batch (`batch_size=None` switches the
automatic batching off). `TensorDataset` and every data set whose `__getitem__` indexes tensors or arrays accept a
list. Data that fit on the device can be put there once (see FW207).

## When to leave it
When `__getitem__` does more than indexing, such as augmenting every item by itself.

## References
- https://pytorch.org/docs/stable/data.html#disable-automatic-batching
- https://pytorch.org/docs/stable/data.html#torch.utils.data.BatchSampler
"""


@rule(
    PAGE,
    knob="items",
    relieves=Bound.INPUT,
    symptoms=(
        ONE_BUSY_CPU,
        MORE_WORKERS_NO_HELP,
        GPU_NO_FASTER,
    ),
    edit_lines=4,
    needs=("HostFacts.cpu_budget", "LoaderFacts.batch_size", "LoaderFacts.in_memory"),
)
def RULE(case: Case) -> Found | None:
    look = loader_look(case)
    if look is None or look.loader.in_memory is not True:
        return None
    loader, size = look.loader, look.loader.batch_size
    if loader.batched_getitems or loader.iterable or not size or size < 2:
        return None
    item_ms = loader.item_ms if loader.item_ms is not None else look.load_ms / size
    if item_ms > LONGEST_SLICE_MS:
        return None
    best_ms, worst_ms = (look.load_ms * share + size * draw for share, draw in ((0.02, 0.00015), (0.12, 0.001)))
    data = loader.dataset_name or "The data set"
    best, worst = (with_workers(look, 0, Work("whole batches", left_ms)) for left_ms in (best_ms, worst_ms))
    name = identifier(loader.class_name, "DataLoader")
    sampler = "RandomSampler" if loader.shuffle is not False else "SequentialSampler"
    return Found(
        title="Index whole batches: the data are in memory already",
        says=(
            f"{data} holds its items in memory: one takes {ms(item_ms)}, but taking {size} of them one by one and "
            f"stacking them again takes {ms(look.load_ms)} per batch. Indexing the whole batch at once does the same "
            "in a fraction, without workers."
        ),
        numbers=look.numbers | {"item_ms": item_ms, "batch_size": float(size)},
        before=f"loader = {name}(dataset, ..., batch_size={size})",
        after=(
            "from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler\n\n"
            f"batches = BatchSampler({sampler}(dataset), batch_size={size}, drop_last=False)\n"
            f"loader = {name}(dataset, sampler=batches, batch_size=None)"
        ),
        gain=look.supply.gain(
            best,
            f"a whole batch takes {ms(best_ms)} to {ms(worst_ms)} instead of {ms(look.load_ms)}; the step takes "
            f"{ms(look.plan.step_ms)}",
            worst=worst,
        ),
        alters=(Alters.CODE,),
    )
