"""FW106: tensors already in memory are taken apart into items and put together again."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.loader import LoaderLook, load_ms, starved_loader
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import loader_call
from feedwatch.advise.step_model import HANDOVER_BEST_MS, serial_gain
from feedwatch.advise.symptoms import GPU_NO_FASTER, MORE_WORKERS_NO_HELP, ONE_BUSY_CPU
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import ms

# One item of a tensor in memory costs 2-20 µs of Python. An item that takes longer is real work.
TINY_ITEM_MS: Final = 0.1
# On small rows whole batches were 124 times faster than single items. On large rows the copy itself stays.
BEST_SHARE_LEFT: Final = 1 / 100
WORST_SHARE_LEFT: Final = 1 / 4
# The sampler still draws every index in Python and makes a list of them: 0.15 to 0.2 µs each with torch's own sampler
# (measured). A sampler of the user's may be five times as slow.
BEST_DRAW_MS: Final = 0.00015
WORST_DRAW_MS: Final = 0.001


def check(case: Case) -> Evidence | None:
    look = starved_loader(case)
    if look is None or look.loader.in_memory is not True:
        return None
    loader, load, item = look.loader, load_ms(look), _item_ms(look)
    if loader.batched_getitems or loader.iterable or not loader.batch_size or loader.batch_size < 2:
        return None
    if item is None or load is None or item > TINY_ITEM_MS:
        return None
    data = loader.dataset_name or "The data set"
    return Evidence(
        says=(
            f"{data} already is in memory: an item takes {ms(item)}, but taking {loader.batch_size} of them one by "
            f"one and stacking them again takes {ms(load)} per batch. Indexing the whole batch at once does the same "
            "in a fraction. More workers will not help: sending a batch between processes costs more "
            "than indexing it."
        ),
        numbers={
            "item_ms": item,
            "load_ms": load,
            "batch_size": float(loader.batch_size),
            "wait_ms": look.times.wait_ms,
            "rest_ms": look.times.rest_ms,
            "step_ms": look.times.step_ms,
        },
        blanks={
            "loader": loader.class_name if loader.class_name.isidentifier() else "DataLoader",
            "batch_size": str(loader.batch_size),
            "before": loader_call(loader),
        },
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    look = starved_loader(case)
    if look is None:
        return None
    load = evidence.numbers["load_ms"]
    # With workers a part of the load is hidden, without them it is the wait. The new load is not hidden in either case.
    items = evidence.numbers["batch_size"]
    best_ms = load * BEST_SHARE_LEFT + items * BEST_DRAW_MS + HANDOVER_BEST_MS / 10
    worst_ms = load * WORST_SHARE_LEFT + items * WORST_DRAW_MS
    left = (min(best_ms, look.times.wait_ms), min(worst_ms, look.times.wait_ms))
    because = (
        f"indexing a batch as a whole takes {ms(left[0])} to {ms(left[1])} instead of {ms(load)}; "
        f"the rest of the step takes {ms(look.times.rest_ms)}"
    )
    return serial_gain(look.times, left, because)


def _item_ms(look: LoaderLook) -> float | None:
    loader = look.loader
    if loader.item_ms is not None:
        return loader.item_ms
    return None if loader.load_ms is None or not loader.batch_size else loader.load_ms / loader.batch_size


RULE: Final = Rule(
    code="FW106",
    name="in-memory-items",
    title="Index whole batches instead of single items",
    before="$before",
    after="""from torch.utils.data import BatchSampler, RandomSampler

loader = $loader(
    dataset,
    sampler=BatchSampler(RandomSampler(dataset), batch_size=$batch_size, drop_last=False),
    batch_size=None,  # the sampler hands over a list of indices: dataset[[3, 17, ...]]
)""",
    page=Page(
        sees=(
            "A data set of tensors or arrays that are in memory already, read item by item, in a run "
            "that waits for its input."
        ),
        why=(
            "Per item there is a call of `__getitem__`, a small tensor, a list, and at the end "
            "`torch.stack` over all of them: microseconds of Python for nanoseconds of copying. With "
            "workers the batch also travels between processes. On small rows direct indexing is a "
            "hundred times faster, with or without workers."
        ),
        fix=(
            "Let the sampler produce lists of indices and index the tensors once per batch "
            "(`batch_size=None` switches the automatic batching off). `TensorDataset` and every data "
            "set whose `__getitem__` indexes tensors or arrays accept a list. Data that fit on the "
            "device can be put there once (see FW207)."
        ),
        leave="When `__getitem__` does more than indexing, such as augmenting every item by itself.",
        references=(
            "https://pytorch.org/docs/stable/data.html#disable-automatic-batching",
            "https://pytorch.org/docs/stable/data.html#torch.utils.data.BatchSampler",
        ),
    ),
    symptoms=(ONE_BUSY_CPU, MORE_WORKERS_NO_HELP, GPU_NO_FASTER),
    relieves=Bound.INPUT,
    edit_lines=4,
    needs=("LoaderFacts.batch_size", "LoaderFacts.in_memory"),
    check=check,
    predict=predict,
)
