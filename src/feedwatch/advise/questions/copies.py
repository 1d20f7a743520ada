"""What rules ask about the device: copies to it, and idle time although its batch is there. Times are per batch."""

from dataclasses import replace
from typing import Final, NamedTuple

from feedwatch.advise.case import Case
from feedwatch.advise.gains import batches_per_step, gain
from feedwatch.advise.plan import CROWDED, EVEN, Plan
from feedwatch.advise.supply import supply
from feedwatch.diagnose.shares import exposed_ms_per_step, shares, watched_device
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.account import EPOCH_START, GAP, VALIDATION, Account
from feedwatch.model.pipeline import LoaderFacts
from feedwatch.model.steps import H2D, INPUT_WAIT, OTHER, Window
from feedwatch.model.transfers import CopyTotals, DeviceTransfers
from feedwatch.model.verdict import Bound, Gain

# NVML counts a moment as busy when any kernel ran in it. Where it still sees this much idling, launching is the limit.
IDLE_IN_NVML: Final = 0.3
# Two runs of one script on a device that is busy differ by so much (measured on the emulated device).
NOISE: Final = 0.02
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


def shorter_step(
    case: Case, account: Account, most_ms: float, least_ms: float, because: str, *, host_freed_ms: float = 0.0
) -> Gain | None:
    """The device needs so many milliseconds less for a step, at most and at least. The run becomes shorter only until
    batches come no faster. None: it gains nothing. `host_freed_ms`: so long the training thread no longer waits for a
    copy.
    """
    now_ms = account.typical.batch_ms
    aside_ms = sum(account.typical.ms(part) or 0.0 for part in (EPOCH_START, VALIDATION, GAP))
    at_best_ms, at_worst_ms = _batches_every_ms(case, account, now_ms - aside_ms, host_freed_ms)
    best_ms = max(now_ms - most_ms, min(aside_ms + at_best_ms, now_ms))
    worst_ms = max(now_ms - least_ms, min(aside_ms + at_worst_ms, now_ms))
    found = gain(now_ms, best_ms, worst_ms, because)
    if found.high < NO_HELP:
        return None
    return replace(found, low=found.low / (1 + NOISE), high=found.high * (1 + NOISE))


def _batches_every_ms(case: Case, account: Account, step_ms: float, host_freed_ms: float) -> tuple[float, float]:
    """How often batches can come, at best and at worst, where the device would take them sooner.

    Where the device runs dry they come as often as they were seen to come. Where it never does nobody has seen how
    often they could come: the model of the supply says so.
    """
    wait_ns = account.parts_ns.get(INPUT_WAIT) if account.starved_ns is None else account.starved_ns
    waits = (wait_ns or 0) >= THRESHOLDS.worth_saying_share * account.wall_ns
    loader = case.facts.pipeline.loader
    if loader is not None and not loader.num_workers:
        every_ms = _on_the_training_thread_ms(case, loader, step_ms - host_freed_ms if waits else None)
        return every_ms, every_ms
    supplied = supply(case)
    if supplied is None or not (supplied.plan.ahead and supplied.plan.loading):
        return 0.0, 0.0
    if waits:
        return step_ms, step_ms
    if not supplied.usable:
        return 0.0, step_ms  # it may be that loading is the limit already
    alone = replace(supplied.plan, step_ms=0.0, step_cpu_ms=0.0, relief_ms=0.0, start_ms=0.0, aside_ms=0.0, asleep=0.0)
    return _at_best(case, alone, step_ms).batch_ms(evenness=EVEN), alone.batch_ms(evenness=EVEN)


def _on_the_training_thread_ms(case: Case, loader: LoaderFacts, seen_ms: float | None) -> float:
    """It makes one batch after the other while the device works; a copy that blocks it is a part of its time.
    `seen_ms`: how long it takes where that is the limit.

    A thread that waits for the device at every step loads while the device stands still: the two add up, and a shorter
    step is a shorter run.
    """
    if case.facts.run.synchronises is not None:
        return 0.0
    return (loader.load_ms or 0.0) if seen_ms is None else seen_ms


def _at_best(case: Case, alone: Plan, step_ms: float) -> Plan:
    """The CPU time of a batch was measured, in all processes together: what loading takes is no more than that. And
    it was measured while the processes disturbed each other.
    """
    used, handover_cpu_ms = case.facts.host.cpu_used, alone.handover_cpu_ms
    if used is not None:
        handover_cpu_ms = min(handover_cpu_ms, max(0.0, used * step_ms - alone.load_cpu_ms))
    return replace(alone.with_less(cpu=1 / CROWDED), handover_cpu_ms=handover_cpu_ms / CROWDED)


def hidden_gaps_ms(case: Case, account: Account) -> float:
    """Per batch, the device has nothing to do because a copy held up the host, which comes late with all that follows.

    A host that reads a result at every step is held up there, too.
    """
    if account.starved_ns is None or case.facts.run.synchronises is not None:
        return 0.0
    return account.starved_ns / max(1, account.batches) / 1e6 + (account.ms(OTHER) or 0.0)


def copies_block(case: Case) -> bool:
    """The host waits for copies from pinned memory, too. Keras cannot do otherwise."""
    batch, run = case.facts.batch, case.facts.run
    return run.framework == "keras" or (batch is not None and batch.non_blocking is False)


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
