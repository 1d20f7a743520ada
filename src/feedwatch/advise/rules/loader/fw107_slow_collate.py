"""FW107: putting the items together takes longer than making them."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.loader import LoaderLook, load_cpu_ms, load_ms, starved_loader
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import identifier
from feedwatch.advise.step_model import Supply, serial_gain, supplied_gain
from feedwatch.advise.symptoms import GPU_NO_FASTER, ONE_BUSY_CPU
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import ms, percent

LARGER_PART: Final = 0.5
# A collate that works on whole tensors costs a copy of the batch. One that is only tidied up saves half of its time.
BEST_REMOVED: Final = 0.98
WORST_REMOVED: Final = 0.5


def check(case: Case) -> Evidence | None:
    look = starved_loader(case)
    if look is None or look.loader.custom_collate is None or look.loader.collate_ms is None:
        return None
    load, collate = load_ms(look), look.loader.collate_ms
    if load is None or load <= 0 or collate / load < LARGER_PART:
        return None
    return Evidence(
        says=(
            f"{look.loader.custom_collate} takes {ms(collate)} of the {ms(load)} that a batch needs "
            f"({percent(min(1.0, collate / load))}): putting the items together is more work than making them."
        ),
        numbers={
            "collate_ms": min(collate, load),
            "load_ms": load,
            "collate_share": min(1.0, collate / load),
            "rest_ms": look.times.rest_ms,
            "wait_ms": look.times.wait_ms,
        },
        blanks={"collate": identifier(look.loader.custom_collate, "collate")},
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    look = starved_loader(case)
    if look is None:
        return None
    load, collate = evidence.numbers["load_ms"], evidence.numbers["collate_ms"]
    best, worst = (load - share * collate for share in (BEST_REMOVED, WORST_REMOVED))
    because = (
        f"a batch takes {ms(best)} to {ms(worst)} to load instead of {ms(load)} when "
        f"{percent(WORST_REMOVED)} or more "
        "of the collate time is gone"
    )
    if look.loader.num_workers == 0:
        return serial_gain(look.times, (best, worst), because)
    return supplied_gain(
        case, look.times, _supply(case, look, load, best), because, worst=_supply(case, look, load, worst)
    )


def _supply(case: Case, look: LoaderLook, now_ms: float, new_ms: float) -> Supply:
    saved = load_cpu_ms(case, look.loader, now_ms - new_ms)
    return Supply(new_ms, look.loader.num_workers, load_cpu_ms(case, look.loader, new_ms), saved)


RULE: Final = Rule(
    code="FW107",
    name="slow-collate",
    title="Make $collate cheaper: it takes most of the loading time",
    before="loader = DataLoader(dataset, collate_fn=$collate)",
    after="""def $collate(items):
    # One operation over the whole batch instead of a Python loop over its values.
    columns = zip(*items)
    return [torch.stack([torch.as_tensor(value) for value in column]) for column in columns]""",
    page=Page(
        sees="A custom `collate_fn` that takes the larger part of the time in which a batch is made.",
        why=(
            "`collate_fn` runs once per batch, in the worker, after all items are there. A loop over "
            "values in Python, padding by concatenation or a conversion to lists easily costs more than "
            "reading the data."
        ),
        fix=(
            "Allocate the result once and fill it, or stack whole tensors; do work that belongs to one "
            "item in `__getitem__`; drop the custom collate when the default does the same."
        ),
        leave="When the structure of a batch really needs it and every vectorised form was tried.",
        references=("https://pytorch.org/docs/stable/data.html#working-with-collate-fn",),
    ),
    symptoms=(ONE_BUSY_CPU, GPU_NO_FASTER),
    relieves=Bound.INPUT,
    edit_lines=8,
    needs=("LoaderFacts.collate_ms", "LoaderFacts.custom_collate"),
    check=check,
    predict=predict,
)
