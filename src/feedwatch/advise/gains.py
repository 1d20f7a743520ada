"""What a change is worth when it takes something out of the run: the account says of what it is a part.

What a change to the input is worth, the model of the supply says (`supply.py`).
"""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.model.account import Account
from feedwatch.model.verdict import Basis, Gain

# Something is always left: no change makes training faster than this.
MOST: Final = 1000.0

# A step is shorter with a resident batch, because nothing else takes its caches, its CPUs and its interpreter's lock.
# By how much depends on who loads: native threads beside it, the training thread itself before it, or other processes
# and Python code beside it. Fitted to 27 small training scripts on one machine of two CPUs, and not tried on others.
# Long steps fill the caches again by themselves: five of 10 to 13 ms became 1.2 ms shorter at most, three not at all.
COLD_BY_NATIVE: Final = 0.2
COLD_BY_ITSELF: Final = 0.4
COLD_BY_OTHERS: Final = 0.55
COLD_MS: Final = 2.5
LONG_STEP_MS: Final = 5.0
COLDEST: Final = 1.4  # of these: what the best of them gained


def cold_ms(step_ms: float, share: float = COLD_BY_ITSELF) -> float:
    """So much of a step is usually the price of what runs between the steps, or beside them."""
    return min(share * step_ms, COLD_MS * min(1.0, LONG_STEP_MS / max(step_ms, 1e-9)))


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
