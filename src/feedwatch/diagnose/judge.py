"""What bounds the run: the largest loss that is worth saying, or compute, which is the goal."""

from feedwatch.diagnose.sentences import describe
from feedwatch.diagnose.shares import Shares, shares
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.facts import Facts
from feedwatch.model.steps import INPUT_WAIT, Window
from feedwatch.model.verdict import Bound, Verdict


def judge(run: Window | None, facts: Facts) -> Verdict:
    if run is None or run.steps < THRESHOLDS.min_steady_steps:
        return _too_early(run)
    parts = shares(run, facts)
    bound = _largest_loss(parts)
    title, detail = describe(bound, parts, run, facts)
    return Verdict(
        bound=bound,
        title=title,
        detail=detail,
        stall_ratio=run.stall_ratio,
        step_ms=run.step.median_ns / 1e6,
        samples_per_s=samples_per_s(run),
        ceiling_speedup=ceiling_speedup(run),
        headroom=headroom(run, facts),
    )


def ceiling_speedup(run: Window) -> float | None:
    """The step without the wait: no change to the input can gain more."""
    stalled_ns = run.stalled_ns
    if stalled_ns is None or stalled_ns >= run.wall_ns:
        return None
    return run.wall_ns / (run.wall_ns - stalled_ns)


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
    worth = [(share, bound) for share, bound in known if share >= THRESHOLDS.worth_saying_share]
    if worth:
        return max(worth, key=lambda loss: loss[0])[1]
    # When the wait was not measured, nobody knows whether the device computed or waited.
    return Bound.UNKNOWN if parts.input is None else Bound.COMPUTE


def _too_early(run: Window | None) -> Verdict:
    seen = 0 if run is None else run.steps
    return Verdict(
        bound=Bound.UNKNOWN,
        title="Too early to tell",
        detail=f"{seen} steady steps were measured; a verdict needs {THRESHOLDS.min_steady_steps}.",
        step_ms=None if run is None else run.step.median_ns / 1e6,
        samples_per_s=None if run is None else samples_per_s(run),
    )
