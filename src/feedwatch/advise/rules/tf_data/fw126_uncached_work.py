"""The same work is done again in every epoch, and its result fits into memory."""

from dataclasses import replace
from typing import Final

from feedwatch.advise.as_is import MB_MS
from feedwatch.advise.case import Case
from feedwatch.advise.plan import Plan
from feedwatch.advise.questions.cached import cached
from feedwatch.advise.questions.python_batches import PythonLook, batch_bytes, python_look
from feedwatch.advise.questions.tf_data import (
    MOST_OF_MEMORY,
    cache_change,
    started_slowly,
    takes_the_steps_cpus,
    tf_look,
)
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import identifier, place
from feedwatch.advise.symptoms import ALL_CPUS_BUSY, GPU_NO_FASTER
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.pipeline import PyDatasetFacts
from feedwatch.model.steps import INPUT_WAIT
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, percent, size

# Passes over the bytes of a batch on its way from Python to TensorFlow, at best and at worst: 0.1 with batches of 6 and
# 24 MB (measured), and a moment for each batch.
PASSES: Final = (0.1, 0.5)
EACH_MS: Final = 0.3
# Ending an epoch and beginning the next takes Keras so long with a PyDataset (measured), at best and at worst.
PYTHON_EPOCH_START_MS: Final = (35.0, 100.0)
# Of the work on a batch that draws random numbers: so much is left when what it reads is kept, at best and at worst
# (chosen; what is read and what is drawn, nobody can tell apart from outside).
DRAWN_LEFT: Final = (0.05, 0.5)

PAGE = """
## What it sees
Deterministic stages that are the larger part of the pipeline's work, whose results for one epoch fit in half of the
free memory, in a run of several epochs.

## Why it costs
Reading, decoding and resizing give the same elements every time. Without a cache that work is repeated in every
epoch.

## Fix
Put `.cache()` behind the last deterministic stage and before `shuffle`, random augmentation and `batch`.
`.cache(filename)` keeps it on a local disk instead of in memory.

## When to leave it
When the data set grows, when other processes need the memory, or when there is only one epoch. A cache in front of a
cheap stage gains nothing.

## References
- https://www.tensorflow.org/guide/data_performance#caching
- https://www.tensorflow.org/api_docs/python/tf/data/Dataset#cache
"""


@rule(
    PAGE,
    knob="cache",
    relieves=Bound.INPUT,
    symptoms=(
        ALL_CPUS_BUSY,
        GPU_NO_FASTER,
    ),
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "HostFacts.ram_available_gb"),
)
def RULE(case: Case) -> Found | None:
    if case.facts.pipeline.pydataset is not None:
        return _kept_batches(case, case.facts.pipeline.pydataset)
    look = tf_look(case)
    change = None if look is None else cache_change(look)
    if look is None or change is None or started_slowly(look) or takes_the_steps_cpus(look):
        return None
    return cached(
        look,
        change,
        title=f"Keep the result of {place(change.last)} in memory: .cache()",
        says=(
            f"Up to {place(change.last)} the pipeline makes the same elements in every epoch: {ms(change.same_ms)} per "
            f"batch; the step takes {ms(look.plan.step_ms)}."
        ),
    )


def _kept_batches(case: Case, data: PyDatasetFacts) -> Found | None:
    """A PyDataset whose batches, or what they are made of, are the same in every epoch."""
    look, account, free_gb = python_look(case), case.account, case.facts.host.ram_available_gb
    each = batch_bytes(case)
    if look is None or account is None or free_gb is None or data.random is None or data.workers > 1:
        return None
    if not account.epochs or not account.epoch_batches or not each:
        return None
    # A pause between epochs may have other causes: batches are kept where training waits for them.
    if (account.ms(INPUT_WAIT) or 0.0) < THRESHOLDS.bounds_share * account.batch_ms:
        return None
    epoch_bytes = each * account.epoch_batches
    if epoch_bytes > MOST_OF_MEMORY * free_gb * 1e9:
        return None
    if data.random:
        return _kept_items(look, data, epoch_bytes, free_gb)
    best, worst = (
        _kept(look, each, passes, start_ms) for passes, start_ms in zip(PASSES, PYTHON_EPOCH_START_MS, strict=True)
    )
    name = identifier(data.class_name, "PyDataset")
    return Found(
        title=f"Keep the batches of {name} in memory",
        says=(
            f"{data.class_name} makes the same batches in every epoch, {ms(look.work.busy_ms)} each; the step takes "
            f"{ms(look.plan.step_ms)}. All of them take {size(epoch_bytes)}; {size(free_gb * 1e9)} of memory are free."
        ),
        numbers=look.numbers | {"epoch_bytes": epoch_bytes, "ram_available_bytes": free_gb * 1e9},
        before=f"data = {name}(...)",
        after="""class Kept(keras.utils.PyDataset):
    # Every batch is made once and kept.
    def __init__(self, source):
        super().__init__()
        self.source, self.batches = source, {}

    def __len__(self):
        return len(self.source)

    def __getitem__(self, index):
        if index not in self.batches:
            self.batches[index] = self.source[index]
        return self.batches[index]


data = Kept(data)""",
        gain=look.supply.gain(
            best,
            f"from the second epoch on {ms(look.work.busy_ms)} of work per batch are read from memory",
            worst=worst,
        ),
    )


def _kept_items(look: PythonLook, data: PyDatasetFacts, epoch_bytes: float, free_gb: float) -> Found | None:
    """Batches that differ from epoch to epoch, in order or by augmentation, are made of the same items."""
    best, worst = (look.plan.with_less(cpu=left, wait=left) for left in DRAWN_LEFT)
    return Found(
        title=f"Keep in memory what {data.class_name} reads",
        says=(
            f"{data.class_name} makes every batch anew, {ms(look.work.busy_ms)} each; the step takes "
            f"{ms(look.plan.step_ms)}. It draws random numbers, so batches cannot be kept, but what is read and "
            f"decoded for them can. As large as the batches are, it takes {size(epoch_bytes)}; "
            f"{size(free_gb * 1e9)} of memory are free."
        ),
        numbers=look.numbers | {"epoch_bytes": epoch_bytes, "ram_available_bytes": free_gb * 1e9},
        before=f"# {data.class_name}.__getitem__ reads and decodes again in every epoch",
        after="""from functools import cache


@cache
def kept(read, *key):
    # What read(*key) gives is made once and kept. Random augmentation stays behind it, on a copy.
    return read(*key)""",
        gain=look.supply.gain(
            best,
            f"an estimate: {percent(1 - DRAWN_LEFT[1])} to {percent(1 - DRAWN_LEFT[0])} of the "
            f"{ms(look.work.busy_ms)} per batch are reading and decoding",
            worst=worst,
        ),
        alters=(Alters.CODE,),
    )


def _kept(look: PythonLook, each_bytes: float, passes: float, start_ms: float) -> Plan:
    """A kept batch is still copied into TensorFlow by Keras."""
    copy_ms = EACH_MS + passes * (look.case.facts.host.handover_ms_per_mb or MB_MS) * each_bytes / 1e6
    work = replace(look.work, cpu_ms=min(look.work.busy_ms, copy_ms), wait_ms=0.0, lock_ms=0.0)
    left = copy_ms / look.work.busy_ms
    epoch_batches = look.supply.account.epoch_batches or look.supply.account.batches
    start = min(look.plan.start_ms, look.plan.start_ms * left + start_ms / epoch_batches)
    return replace(look.plan, loading=(work,), start_ms=start)
