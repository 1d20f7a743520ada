"""What rules ask about the device: copies to it, and idle time although its batch is there. Times are per batch."""

from dataclasses import replace
from typing import Final, NamedTuple

from feedwatch.advise.case import Case
from feedwatch.advise.gains import batches_per_step, gain
from feedwatch.advise.plan import EVEN
from feedwatch.advise.supply import supply
from feedwatch.diagnose.shares import exposed_ms_per_step, shares, watched_device
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.account import Account
from feedwatch.model.steps import H2D, Window
from feedwatch.model.transfers import CopyTotals, DeviceTransfers
from feedwatch.model.verdict import Bound, Gain

# NVML counts a moment as busy when any kernel ran in it. Where it still sees this much idling, launching is the limit.
IDLE_IN_NVML: Final = 0.3
# Two runs of one script on a device that is busy differ by so much (measured on the emulated device).
NOISE: Final = 0.02
# Of the time in which a batch was made, at best: a guess, not measured.
SOONER: Final = 0.75
# A change that gains less than this even at best does not help.
NO_HELP: Final = 1.02


class CopyLook(NamedTuple):
    account: Account
    exposed_ms: float  # copy time that nothing hides
    device: DeviceTransfers | None  # from a profiler window; None when only the device clock saw the copies
    steps: int  # steps in the profiler windows

    @property
    def batch_ms(self) -> float:
        return self.account.batch_ms

    @property
    def share(self) -> float:
        return self.exposed_ms / self.account.batch_ms


class IdleLook(NamedTuple):
    account: Account
    idle_share: float  # of the step, without waiting for input and without time between steps
    idle_ms: float
    kernels_per_step: float | None  # None without a profiler window, as the next
    kernel_ms: float | None  # mean kernel


def exposed_copies(case: Case) -> CopyLook | None:
    """Copies that cost a share of the run worth saying; None on a CPU, without figures, or below that share."""
    account, facts = case.account, case.facts
    exposed_ms = None if account is None else _exposed_ms(case, account)
    if account is None or exposed_ms is None or facts.run.device_kind == "cpu":
        return None
    steps = 0 if facts.transfers is None else facts.transfers.sample.steps
    look = CopyLook(account, min(exposed_ms, account.batch_ms), watched_device(facts), steps)
    return look if look.share >= THRESHOLDS.worth_saying_share else None


def _exposed_ms(case: Case, account: Account) -> float | None:
    """A device clock saw the copies of all steps. Without one a profiler window speaks for them; the host's clock
    mostly sees waiting for earlier work.
    """
    if account.starved_ns is not None and account.ms(H2D) is not None:
        return account.ms(H2D)
    sampled_ms = exposed_ms_per_step(case.facts)
    return None if sampled_ms is None else sampled_ms / batches_per_step(case)


def in_compute_stream(case: Case) -> bool:
    """A clock on the device timed the copies in the stream that computes: there no kernel runs beside them."""
    return case.account is not None and case.account.starved_ns is not None and case.account.ms(H2D) is not None


def shorter_step(case: Case, account: Account, most_ms: float, least_ms: float, because: str) -> Gain | None:
    """The step becomes shorter by so many milliseconds. Where batches are made ahead, the run does so only until they
    come no faster. None: it gains nothing.
    """
    now_ms, supplied = account.typical.batch_ms, supply(case)
    supply_ms = 0.0
    if supplied is not None and supplied.usable and supplied.plan.ahead and supplied.plan.loading:
        supply_ms = replace(supplied.plan, step_ms=0.0, step_cpu_ms=0.0, relief_ms=0.0).batch_ms(evenness=EVEN)
    # Where training never waits for them, nobody has seen how often batches could come: perhaps sooner. Where it does,
    # they come as often as they were seen to come.
    waits = (account.stall_ratio or 0.0) >= THRESHOLDS.worth_saying_share
    if supplied is not None and waits:
        supply_ms *= max(1.0, supplied.error)
    best_ms, worst_ms = (
        max(now_ms - saved_ms, min(sooner * supply_ms, now_ms))
        for saved_ms, sooner in ((most_ms, 1.0 if waits else SOONER), (least_ms, 1.0))
    )
    found = gain(now_ms, best_ms, worst_ms, because)
    if found.high < NO_HELP:
        return None
    return replace(found, low=found.low / (1 + NOISE), high=found.high * (1 + NOISE))


def kind_share(look: CopyLook, kind: str) -> float | None:
    """Share of the copied bytes that came from this kind of memory; None where the kinds are not known."""
    if look.device is None or look.device.copies.size_bytes <= 0:
        return None
    known = [total for name, total in look.device.by_kind.items() if name != "unknown"]
    if 2 * sum(total.size_bytes for total in known) < look.device.copies.size_bytes:
        return None
    total: CopyTotals | None = look.device.by_kind.get(kind)
    return 0.0 if total is None else total.size_bytes / look.device.copies.size_bytes


def pinned(case: Case) -> bool | None:
    """As the batch itself says, else as the loader was told."""
    batch, loader = case.facts.batch, case.facts.pipeline.loader
    if batch is not None and batch.pinned is not None:
        return batch.pinned
    return None if loader is None else loader.pin_memory


def idle_share(case: Case, run: Window) -> float | None:
    """Of the step: the device has its batch and does nothing. From a profiler window, else from NVML."""
    if case.account is None:
        return None
    parts, device = shares(run, case.facts, case.account.typical), case.facts.device
    if parts.launch is not None or case.facts.run.device_kind == "cpu":
        return parts.launch
    if device is None or device.utilisation is None or parts.input is None:
        return None
    return max(0.0, 1.0 - device.utilisation - parts.input - (parts.host or 0.0))


def idle_look(case: Case) -> IdleLook | None:
    """Only when launching bounds the run: that is the verdict, or NVML says so where no profiler window was taken."""
    run, account = case.run, case.account
    idle = None if run is None else idle_share(case, run)
    if run is None or account is None or idle is None:
        return None
    sampled, transfers = watched_device(case.facts), case.facts.transfers
    if case.verdict.bound is not Bound.LAUNCH and not (
        sampled is None and case.verdict.bound is Bound.COMPUTE and idle >= IDLE_IN_NVML
    ):
        return None
    steps = 0 if transfers is None else transfers.sample.steps
    kernels = 0 if sampled is None or steps <= 0 else sampled.kernels
    return IdleLook(
        account=account,
        idle_share=idle,
        idle_ms=idle * run.wall_ns / max(1, run.batches) / 1e6,
        kernels_per_step=kernels / steps if kernels else None,
        kernel_ms=sampled.kernel_ns / kernels / 1e6 if sampled is not None and kernels else None,
    )
