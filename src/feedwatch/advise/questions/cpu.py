"""What rules ask about the CPUs: whether they are used up, by whom, and whether a piece of work computes or waits."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.step_model import cpu_budget, step_times

# The last tenth of a budget is never used: kernel, interrupts and the measuring itself take it.
SATURATED_SHARE: Final = 0.9
# Workers that wait a fifth of their busy time for a core are too many for the cores, whatever the totals say.
CORE_WAIT_SHARE: Final = 0.2
# On a full machine, this much of it is used by other processes.
OTHERS_SHARE: Final = 0.25
# Work that computes burns about as much CPU time as it takes; work that waits burns next to none.
COMPUTING_SHARE: Final = 0.7
# Two processes that both want one CPU get half of it each.
CROWDED_SHARE: Final = 0.5
# A training step on a CPU device computes for a quarter of its time at least; on another device its thread may sleep.
TRAINING_CPU_SHARE: Final = 0.25


def cpu_saturated(case: Case) -> bool | None:
    """Whether this run uses the whole CPU budget; None when neither figure is known."""
    budget, used, loader = cpu_budget(case), case.facts.host.cpu_used, case.facts.pipeline.loader
    core_wait = None if loader is None else loader.core_wait_share
    if (budget is None or used is None) and core_wait is None:
        return None
    by_use = budget is not None and used is not None and used >= SATURATED_SHARE * budget
    # Workers that mostly wait for storage leave the cores free, even when other processes make them queue for one.
    storage = loader is not None and loader.blocked_share is not None and loader.blocked_share >= 0.5
    return by_use or (core_wait is not None and core_wait >= CORE_WAIT_SHARE and not storage)


def crowded(case: Case) -> bool:
    """Other processes use up the machine. Work that waits and work that computes then look the same from outside."""
    share, used, budget = case.facts.host.machine_cpu_share, case.facts.host.cpu_used, cpu_budget(case)
    if share is None or used is None or not budget:
        return False
    return share >= SATURATED_SHARE and share - used / budget >= OTHERS_SHARE


def computes(case: Case, work_ms: float) -> bool | None:
    """Whether this work per batch is computing: the process burns enough CPU time for it beside the training step.

    None when that is not known, or when the run gets too little CPU time to show it.
    """
    used, times = case.facts.host.cpu_used, step_times(case)
    if used is None or times is None:
        return None
    training_ms = TRAINING_CPU_SHARE * times.rest_ms if case.facts.run.device_kind == "cpu" else 0.0
    # One batch is made per step. Calls that wait for one another (the interpreter's lock) count that waiting twice.
    work_ms = min(work_ms, times.step_ms)
    burnt_ms, needed_ms = used * times.step_ms, COMPUTING_SHARE * work_ms + training_ms
    if not crowded(case):
        return burnt_ms >= needed_ms
    # A process that shares the CPUs gets them half of the time: burning less than that proves nothing either way.
    return True if burnt_ms >= needed_ms * CROWDED_SHARE else None
