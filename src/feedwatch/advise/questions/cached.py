"""A cache as a finding: what the rules about repeated work have in common. They differ in what the user notices."""

from feedwatch.advise.questions.tf_data import CacheChange, TfLook
from feedwatch.advise.rule import Alters, Found
from feedwatch.advise.snippets import place
from feedwatch.words import ms, size


def cached(look: TfLook, change: CacheChange, *, title: str, says: str) -> Found:
    """`says`: what was seen; that the result fits into memory is added."""
    shuffle = change.shuffle
    behind = f".shuffle({shuffle.buffer_size})" if shuffle is not None and (shuffle.buffer_size or 0) > 0 else ""
    moved = ", in place of the shuffle before it" if shuffle is not None else ""
    return Found(
        title=title,
        says=f"{says} The result takes {size(change.epoch_bytes)}; {size(change.free_bytes)} of memory are free.",
        numbers=look.numbers
        | {
            "repeated_ms": change.same_ms,
            "epoch_bytes": change.epoch_bytes,
            "ram_available_bytes": change.free_bytes,
        },
        before=f"dataset = dataset  # {place(change.last)} is done again in every epoch",
        after=f"dataset = dataset.cache(){behind}  # behind {place(change.last)}{moved}",
        gain=look.supply.gain(
            change.best,
            f"from the second epoch on {ms(change.same_ms)} of work per batch are read from memory; the step takes "
            f"{ms(look.plan.step_ms)}",
            worst=change.worst,
        ),
        alters=(Alters.ORDER,) if shuffle is not None else (),
    )
