"""What rules ask about the device: copies to it, and idle time although its batch is there. Figures are per step."""

from typing import NamedTuple

from feedwatch.advise.case import Case
from feedwatch.diagnose.shares import exposed_ms_per_step, shares, watched_device
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.steps import H2D
from feedwatch.model.transfers import CopyTotals, DeviceTransfers
from feedwatch.model.verdict import Bound


class CopyLook(NamedTuple):
    step_ms: float
    exposed_ms: float  # copy time that nothing hides
    device: DeviceTransfers | None  # from a profiler window; None when only the device clock saw the copies
    steps: int  # steps in the profiler windows

    @property
    def share(self) -> float:
        return self.exposed_ms / self.step_ms


class IdleLook(NamedTuple):
    step_ms: float
    idle_share: float  # of the step, without waiting for input and without time between steps
    kernels_per_step: float
    kernel_ms: float | None  # mean kernel, None without a profiler window


def exposed_copies(case: Case) -> CopyLook | None:
    """Copies that cost a share of the step worth saying; None on a CPU, without figures, or below that share."""
    run, facts = case.run, case.facts
    if run is None or run.steps <= 0 or run.wall_ns <= 0 or facts.run.device_kind == "cpu":
        return None
    step_ms = run.wall_ns / run.steps / 1e6
    exposed_ms = exposed_ms_per_step(facts)
    if exposed_ms is None:
        copy = run.phases.get(H2D)
        # Only a device clock measures copy time; the host's clock mostly sees waiting for earlier work.
        if copy is None or run.starved_ns is None:
            return None
        exposed_ms = copy.total_ns / run.steps / 1e6
    look = CopyLook(
        step_ms,
        min(exposed_ms, step_ms),
        watched_device(facts),
        0 if facts.transfers is None else facts.transfers.sample.steps,
    )
    return look if look.share >= THRESHOLDS.worth_saying_share else None


def kind_share(look: CopyLook, kind: str) -> float | None:
    """Share of the copied bytes that came from this kind of memory."""
    if look.device is None or look.device.copies.size_bytes <= 0:
        return None
    total: CopyTotals | None = look.device.by_kind.get(kind)
    return 0.0 if total is None else total.size_bytes / look.device.copies.size_bytes


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
