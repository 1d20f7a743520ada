"""What a change is worth when it takes something out of the run: the account says of what it is a part.

What a change to the input is worth, the model of the supply says (`supply.py`).
"""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.model.account import Account
from feedwatch.model.verdict import Basis, Gain

# Something is always left: no change makes training faster than this.
MOST: Final = 1000.0

# A step that follows other work finds cold caches and sleeping CPUs: with a resident batch the steps of twelve small
# models were 0.5 to 2.4 ms shorter, by up to 55 %, those of large ones not (measured). A change usually gains the
# middle of that; the ceiling is what the best of them gained.
COLD_MS: Final = 1.3
COLD_SHARE: Final = 0.4
COLDEST: Final = 1.6  # of the two above


def cold_ms(step_ms: float) -> float:
    """So much of a step may be the price of what runs between the steps."""
    return min(COLD_SHARE * step_ms, COLD_MS)


def removed(account: Account, most_ms: float, least_ms: float, because: str) -> Gain:
    """Per batch, the run becomes shorter by so many milliseconds."""
    now_ms = account.typical.batch_ms
    return gain(now_ms, now_ms - most_ms, now_ms - least_ms, because)


def gain(now_ms: float, best_ms: float, worst_ms: float, because: str) -> Gain:
    """From now to (best, worst). The low end may be below 1: then the engine does not show the change."""
    least_ms = now_ms / MOST
    best_ms, worst_ms = max(best_ms, least_ms), max(worst_ms, least_ms)
    low, high = sorted((now_ms / worst_ms, now_ms / best_ms))
    return Gain(low, high, Basis.PREDICTED, because)


def batches_per_step(case: Case) -> float:
    """More than one with several steps per execution or gradient accumulation."""
    run = case.run
    return 1.0 if run is None or not run.steps else run.batches / run.steps
