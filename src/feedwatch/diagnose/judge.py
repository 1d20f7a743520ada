"""What bounds the run: the largest loss of its account, or compute, which is the goal."""

from feedwatch.diagnose.sentences import describe
from feedwatch.diagnose.shares import Shares, shares
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.account import Account
from feedwatch.model.facts import Facts
from feedwatch.model.steps import INPUT_WAIT, Window
from feedwatch.model.verdict import Bound, Verdict


def judge(run: Window | None, facts: Facts, account: Account | None, ceiling: float | None = None) -> Verdict:
    """`ceiling`: what the model of the supply estimates; without it, the account without its waiting."""
    if run is None or account is None or run.steps < THRESHOLDS.min_steady_steps:
        return _too_early(run)
    typical = account.typical
    parts = shares(run, facts, typical)
    bound = _largest_loss(parts)
    title, detail = describe(bound, parts, run, facts, typical)
    return Verdict(
        bound=bound,
        title=title,
        detail=detail,
        stall_ratio=typical.stall_ratio,
        step_ms=run.wall_ns / run.steps / 1e6,
        samples_per_s=samples_per_s(run),
        ceiling_speedup=_ceiling(typical, ceiling),
        headroom=headroom(run, facts),
    )


def _ceiling(account: Account, estimated: float | None) -> float | None:
    """The run without its waiting, or better where the input also takes the step's CPUs. An estimate."""
    stalled_ns = account.stalled_ns
    if stalled_ns is None or stalled_ns >= account.wall_ns:
        return estimated
    return max(account.wall_ns / (account.wall_ns - stalled_ns), estimated or 1.0)


def headroom(run: Window, facts: Facts) -> float | None:
    """How much faster the rest of the step could become before the input is the limit."""
    pipeline = facts.pipeline
    wait = run.phases.get(INPUT_WAIT)
    if pipeline.load_ms is None or not pipeline.lanes or pipeline.load_ms <= 0 or wait is None:
        return None
    rest_ms = (run.wall_ns - wait.total_ns) / max(1, run.batches) / 1e6
    return rest_ms / (pipeline.load_ms / pipeline.lanes)


def samples_per_s(run: Window) -> float | None:
    return None if run.samples is None or run.wall_ns <= 0 else run.samples / (run.wall_ns / 1e9)


def _largest_loss(parts: Shares) -> Bound:
    losses = [
        (parts.input, Bound.INPUT),
        (parts.transfer, Bound.TRANSFER),
        (parts.launch, Bound.LAUNCH),
        (parts.host, Bound.HOST),
    ]
    known = [(share, bound) for share, bound in losses if share is not None]
    large = [(share, bound) for share, bound in known if share >= THRESHOLDS.bounds_share]
    if large:
        return max(large, key=lambda loss: loss[0])[1]
    # When the wait was not measured, nobody knows whether the device computed or waited.
    return Bound.UNKNOWN if parts.input is None else Bound.COMPUTE


def _too_early(run: Window | None) -> Verdict:
    seen = 0 if run is None else run.steps
    return Verdict(
        bound=Bound.UNKNOWN,
        title="Too early to tell",
        detail=f"{seen} steady steps were measured; a verdict needs {THRESHOLDS.min_steady_steps}.",
        step_ms=None if run is None else run.wall_ns / max(1, run.steps) / 1e6,
        samples_per_s=None if run is None else samples_per_s(run),
    )
