"""Where no clock saw the copies at every step, the profiler windows' mean takes them out of compute."""

from dataclasses import replace

from feedwatch.diagnose.shares import exposed_ms_per_step
from feedwatch.model.facts import Facts
from feedwatch.model.steps import COMPUTE, H2D, PhaseTime, Window


def with_sampled_copies(window: Window, facts: Facts) -> Window:
    """Only the exposed part: what a kernel hides is compute time already, and phases add up to the step."""
    compute, exposed_ms = window.phases.get(COMPUTE), exposed_ms_per_step(facts)
    if window.phases.get(H2D) is not None or compute is None or exposed_ms is None:
        return window
    copy_ns = min(exposed_ms * 1e6, compute.total_ns / max(1, window.steps))
    total_ns = round(copy_ns * window.steps)
    copies = PhaseTime(total_ns, copy_ns, None)
    rest = PhaseTime(compute.total_ns - total_ns, max(0.0, compute.median_ns - copy_ns), compute.p95_ns)
    return replace(window, phases=window.phases | {H2D: copies, COMPUTE: rest})
