"""What a change is worth: one model of the step for all rules.

A step is the wait for its batch plus the rest. With the pipeline running ahead, the new step is the longest of
three: what the pipeline needs per batch, what the rest needs, and what the CPUs need for the work of both. What
cannot run ahead (handing over the batch) is added. No gain exceeds the step without its wait.
"""

from dataclasses import dataclass
from typing import Final

from feedwatch.advise.case import Case
from feedwatch.model.verdict import Basis, Bound, Gain

# Against 54 real retrainings max(pipeline, rest) was too optimistic, by 9 % at the median and by 23 % at the 90th
# percentile. The slow end of a range includes that error, the fast end does not.
OPTIMISM: Final = 0.23
# Handing over a finished batch: at best waking a thread, at worst a transfer between processes (measured).
HANDOVER_BEST_MS: Final = 0.2
HANDOVER_WORST_MS: Final = 2.0
# CPU use is a sample of the last second or so; the times are means over all steps.
CPU_ERROR: Final = 0.15
# No prediction says that a change makes training slower.
NO_GAIN: Final = 1.0


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Means per batch: they add up to the run's time, medians do not."""

    step_ms: float
    wait_ms: float

    @property
    def rest_ms(self) -> float:
        return max(0.0, self.step_ms - self.wait_ms)

    @property
    def wait_share(self) -> float:
        return self.wait_ms / self.step_ms

    @property
    def ceiling(self) -> float:
        """Never infinite: also in a step that only waits, something is left."""
        return self.step_ms / max(self.rest_ms, 0.001 * self.step_ms)


@dataclass(frozen=True, slots=True)
class Supply:
    """The pipeline under the new setting, per batch."""

    load_ms: float  # one batch, made by one lane
    lanes: float = 1.0
    cpu_ms: float | None = None  # CPU part of load_ms; None = all of it
    saved_cpu_ms: float = 0.0  # CPU time per batch that the change removes
    handover_ms: tuple[float, float] = (HANDOVER_BEST_MS, HANDOVER_WORST_MS)  # exposed, best and worst

    @property
    def period_ms(self) -> float:
        return self.load_ms / max(self.lanes, 1e-9)


def step_times(case: Case) -> StepTimes | None:
    run = case.run
    if run is None or run.batches <= 0 or run.wall_ns <= 0 or run.stalled_ns is None:
        return None
    wall_ns = float(run.wall_ns)
    wait_ns = min(float(run.stalled_ns), wall_ns)
    return StepTimes(wall_ns / run.batches / 1e6, wait_ns / run.batches / 1e6)


def input_bound_times(case: Case) -> StepTimes | None:
    return step_times(case) if case.verdict.bound is Bound.INPUT else None


def cpu_budget(case: Case) -> float | None:
    """CPUs for this rank: ranks on one machine share them."""
    budget = case.facts.host.cpu_budget
    return None if budget is None else budget / max(1, case.facts.run.local_ranks)


def cpu_floor_ms(case: Case, times: StepTimes, supply: Supply) -> tuple[float, float]:
    """Best and worst time in which the CPU budget can do the work of one batch."""
    budget = cpu_budget(case)
    if budget is None or budget <= 0:
        return 0.0, 0.0
    load_cpu_ms = supply.load_ms if supply.cpu_ms is None else supply.cpu_ms
    # The rest of the step keeps one CPU busy at least. On a CPU device it may use all of them.
    most_cpus = budget if case.facts.run.device_kind == "cpu" else 1.0
    best_ms = load_cpu_ms + times.rest_ms * min(1.0, budget)
    worst_ms = load_cpu_ms + times.rest_ms * most_cpus
    used = case.facts.host.cpu_used
    if used is not None:
        # Measured: all CPU time that this process and its workers burn per batch now. Threads that spin while they
        # wait are in it, so it bounds the best case only from above.
        now_ms = max(0.0, min(used, budget) * times.step_ms - supply.saved_cpu_ms, supply.cpu_ms or 0.0)
        best_ms, worst_ms = min(best_ms, now_ms * (1 - CPU_ERROR)), now_ms * (1 + CPU_ERROR)
    return best_ms / budget, worst_ms / budget


def supplied_gain(case: Case, times: StepTimes, supply: Supply, because: str, *, worst: Supply | None = None) -> Gain:
    """The pipeline works ahead of the step. `worst`: the supply at the slow end, where that is uncertain too."""
    slow = worst or supply
    best_floor_ms, _ = cpu_floor_ms(case, times, supply)
    _, worst_floor_ms = cpu_floor_ms(case, times, slow)
    best_ms = max(supply.period_ms, times.rest_ms, best_floor_ms) + supply.handover_ms[0]
    worst_ms = max(slow.period_ms, times.rest_ms, worst_floor_ms) * (1 + OPTIMISM) + slow.handover_ms[1]
    return gain(times.step_ms, best_ms, worst_ms, times.ceiling, because)


def serial_gain(times: StepTimes, wait_ms: tuple[float, float], because: str) -> Gain:
    """Nothing overlaps before or after: the wait changes to (best, worst), the rest stays as it is."""
    best_ms, worst_ms = (times.rest_ms + value_ms for value_ms in wait_ms)
    return gain(times.step_ms, best_ms, worst_ms, times.ceiling, because)


def removed_gain(step_ms: float, removed_ms: tuple[float, float], because: str) -> Gain:
    """The step becomes shorter by these milliseconds: (most, least)."""
    most_ms, least_ms = removed_ms
    ceiling = step_ms / max(step_ms - most_ms, 0.001 * step_ms)
    return gain(step_ms, step_ms - most_ms, step_ms - least_ms, ceiling, because)


def run_gain(saved_share: tuple[float, float], because: str) -> Gain:
    """For what happens once per epoch or run: the run becomes shorter by these shares of its time (most, least)."""
    most, least = (min(max(share, 0.0), 0.999) for share in saved_share)
    return gain(1.0, 1 - most, 1 - least, 1 / (1 - most), because)


def gain(now_ms: float, best_ms: float, worst_ms: float, ceiling: float, because: str) -> Gain:
    high = min(ceiling, now_ms / max(best_ms, 1e-9))
    low = min(high, now_ms / max(worst_ms, 1e-9))
    return Gain(max(NO_GAIN, low), max(NO_GAIN, high), Basis.PREDICTED, because)
