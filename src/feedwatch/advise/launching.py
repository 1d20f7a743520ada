"""What the rules about an idle device with its batch at hand ask of a case. Figures are per step."""

from typing import NamedTuple

from feedwatch.advise.case import Case
from feedwatch.diagnose.shares import shares, watched_device
from feedwatch.model.verdict import Bound


class IdleLook(NamedTuple):
    step_ms: float
    idle_share: float  # of the step, without waiting for input and without time between steps
    kernels_per_step: float
    kernel_ms: float | None  # mean kernel, None without a profiler window


def idle_look(case: Case) -> IdleLook | None:
    """Only when the verdict is that launching bounds the run."""
    run = case.run
    if run is None or run.steps <= 0 or case.verdict.bound is not Bound.LAUNCH:
        return None
    idle_share = shares(run, case.facts).launch
    if idle_share is None:
        return None
    device, transfers = watched_device(case.facts), case.facts.transfers
    steps = 0 if transfers is None else transfers.sample.steps
    kernels = 0 if device is None or steps <= 0 else device.kernels
    return IdleLook(
        step_ms=run.wall_ns / run.steps / 1e6,
        idle_share=idle_share,
        kernels_per_step=kernels / steps if steps else 0.0,
        kernel_ms=device.kernel_ns / kernels / 1e6 if device is not None and kernels else None,
    )
