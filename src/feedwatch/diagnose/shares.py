"""How the wall time of the measured steps divides among the things that can bound a run."""

from dataclasses import dataclass, replace

from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.account import GAP, Account
from feedwatch.model.facts import Facts
from feedwatch.model.steps import COMPUTE, H2D, OTHER, PhaseTime, Window
from feedwatch.model.transfers import DeviceTransfers


@dataclass(frozen=True, slots=True)
class Shares:
    """0..1 of wall time; None where it was not measured."""

    input: float | None
    transfer: float | None
    host: float | None
    launch: float | None


def shares(run: Window, facts: Facts, account: Account) -> Shares:
    """Of the whole run: what happens at epoch starts and between epochs counts as what happens in steps does."""
    input_share = _input(account)
    host_share = _host(run, facts, account)
    transfer_share = _transfer(run, facts)
    return Shares(input_share, transfer_share, host_share, _launch(run, facts, input_share, host_share))


def watched_device(facts: Facts) -> DeviceTransfers | None:
    """The device whose copies the report shows."""
    if facts.transfers is None:
        return None
    return facts.transfers.sample.devices.get(facts.transfers.device)


def exposed_ms_per_step(facts: Facts) -> float | None:
    """Copy time per step that no kernel hides, from the profiler windows."""
    device = watched_device(facts)
    if device is None or device.exposed_per_step_ns is None:
        return None
    return device.exposed_per_step_ns / 1e6


def with_sampled_copies(window: Window, facts: Facts) -> Window:
    """Where no clock saw the copies at every step, the mean of the profiler windows takes them out of compute.

    Only the exposed part: what a kernel hides is compute time already, and phases add up to the step.
    """
    compute, exposed_ms = window.phases.get(COMPUTE), exposed_ms_per_step(facts)
    if window.phases.get(H2D) is not None or compute is None or exposed_ms is None:
        return window
    copy_ns = min(exposed_ms * 1e6, compute.total_ns / max(1, window.steps))
    total_ns = round(copy_ns * window.steps)
    copies = PhaseTime(total_ns, copy_ns, None)
    rest = PhaseTime(compute.total_ns - total_ns, max(0.0, compute.median_ns - copy_ns), compute.p95_ns)
    return replace(window, phases=window.phases | {H2D: copies, COMPUTE: rest})


def _input(account: Account) -> float | None:
    stalled_ms = account.stalled_ms
    if stalled_ms is None:
        return None
    # Handing over a batch that is ready takes time as well. That is not waiting for input.
    return 0.0 if stalled_ms < THRESHOLDS.handover_floor_ms else account.stall_ratio


def _host(run: Window, facts: Facts, account: Account) -> float | None:
    other = run.phases.get(OTHER)
    if other is None or run.wall_ns <= 0:
        return None
    # Between two epochs TensorFlow ends the old iterator, which waits for what the input has in the making.
    between = 0.0 if facts.run.backend == "tensorflow" else account.share(GAP) or 0.0
    per_step_ms = other.total_ns / max(1, run.steps) / 1e6
    return between if per_step_ms < THRESHOLDS.loop_floor_ms else between + (account.share(OTHER) or 0.0)


def _transfer(run: Window, facts: Facts) -> float | None:
    """A clock on the device saw every step. A profiler window saw a few, and slowed them."""
    copy = run.phases.get(H2D)
    # It times the copy in the compute stream: compute waits as long as the copy takes.
    if copy is not None and run.starved_ns is not None:
        return copy.share_of(run.wall_ns)
    exposed_ms = exposed_ms_per_step(facts)
    if exposed_ms is None or run.wall_ns <= 0:
        return None
    return min(1.0, exposed_ms * 1e6 * run.steps / run.wall_ns)


def _launch(run: Window, facts: Facts, input_share: float | None, host_share: float | None) -> float | None:
    if facts.run.device_kind == "cpu" or input_share is None:
        return None
    idle_share = _idle(run, watched_device(facts))
    return None if idle_share is None else max(0.0, idle_share - input_share - (host_share or 0.0))


def _idle(run: Window, device: DeviceTransfers | None) -> float | None:
    """A profiler slows launches and leaves kernels as they are. How long they run, its window tells; how long a step
    takes, the steps without one.
    """
    if device is None or device.busy_per_step_ns is None or run.wall_ns <= 0:
        return None if device is None else device.idle_share
    return max(0.0, 1.0 - device.busy_per_step_ns * run.steps / run.wall_ns)
