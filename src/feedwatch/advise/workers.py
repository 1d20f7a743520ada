"""How many DataLoader workers a run needs, and how many the CPUs carry."""

import math
from typing import Final, NamedTuple

from feedwatch.advise.case import Case
from feedwatch.advise.look import LoaderLook, load_cpu_ms
from feedwatch.advise.step_model import Supply, cpu_budget

# Workers that mostly wait for storage may outnumber the CPUs, but not without end: each costs memory and a process.
MOST_WORKERS_PER_CPU: Final = 4


class WorkerPlan(NamedTuple):
    needed: int  # to supply a batch as often as the rest of the step can take one
    carried: int  # what the CPU budget has room for
    supply: Supply  # with the smaller of both

    @property
    def workers(self) -> int:
        return min(self.needed, self.carried)


def plan_workers(case: Case, look: LoaderLook, batch_load_ms: float) -> WorkerPlan | None:
    budget = cpu_budget(case)
    if budget is None or batch_load_ms <= 0:
        return None
    cpu_ms = load_cpu_ms(case, look.loader, batch_load_ms)
    busy_share = max(cpu_ms / batch_load_ms, 1 / MOST_WORKERS_PER_CPU)
    carried = max(1, math.floor(budget / busy_share + 1e-6))
    needed = max(1, math.ceil(batch_load_ms / max(look.times.rest_ms, 0.01 * batch_load_ms) - 1e-6))
    lanes = min(needed, carried)
    return WorkerPlan(needed, carried, Supply(batch_load_ms, lanes, cpu_ms))
