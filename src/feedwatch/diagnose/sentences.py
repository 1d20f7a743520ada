"""The verdict in words that a newcomer understands, with the run's own numbers."""

from feedwatch.diagnose.shares import Shares, exposed_ms_per_step
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.facts import Facts
from feedwatch.model.steps import COMPUTE, OTHER, Window
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, percent


def describe(bound: Bound, parts: Shares, run: Window, facts: Facts) -> tuple[str, str]:
    """(title, detail)"""
    if bound is Bound.INPUT:
        return f"{_who(run, facts)} waits for data {percent(run.stall_ratio)} of the time", _input_detail(run, facts)
    if bound is Bound.TRANSFER:
        return f"Copying batches to the device takes {percent(parts.transfer)} of every step", _copy_detail(run, facts)
    if bound is Bound.LAUNCH:
        title = f"The device idles {percent(parts.launch)} of the time although its batch is there"
        return title, f"{_step(run)} The kernels are too short for the time it takes to launch them."
    if bound is Bound.HOST:
        title = f"The loop spends {percent(parts.host)} of the time between steps"
        return (
            title,
            f"{_step(run)} {ms(_mean_ms(run, OTHER))} of it is neither input nor training: callbacks, logging.",
        )
    if bound is Bound.COMPUTE:
        return "Input is not the limit: training is busy computing", _compute_detail(run)
    return (
        "The input wait could not be measured",
        f"{_step(run)} See the notes for what was not measured and why.",
    )


def _who(run: Window, facts: Facts) -> str:
    if facts.run.device_kind == "cpu":
        return "Training"
    # Without a device clock only the loop was seen, except where the framework itself syncs at every step.
    seen = run.starved_ns is not None or facts.run.backend == "tensorflow"
    return "The GPU" if seen else "The training loop"


def _step(run: Window) -> str:
    return f"A step takes {ms(run.step.median_ns / 1e6)} (median)."


def _mean_ms(run: Window, phase: str) -> float | None:
    time = run.phases.get(phase)
    return None if time is None else time.total_ns / max(1, run.steps) / 1e6


def _input_detail(run: Window, facts: Facts) -> str:
    wait_ms = None if run.stalled_ns is None else run.stalled_ns / max(1, run.steps) / 1e6
    text = f"{_step(run)} On average {ms(wait_ms)} of it is spent waiting for the next batch."
    slowest = next((stage for stage in facts.pipeline.stages if stage.bottleneck), None)
    if slowest is not None:
        text += f" The slowest part of the pipeline is {slowest.name}"
        text += f" ({slowest.detail})" if slowest.detail else ""
        text += f", {ms(slowest.ms_per_batch)} per batch." if slowest.ms_per_batch is not None else "."
    return text


def _copy_detail(run: Window, facts: Facts) -> str:
    exposed_ms = exposed_ms_per_step(facts)
    if exposed_ms is None:
        return f"{_step(run)} The copy stands in the compute stream, so the device cannot work meanwhile."
    return f"{_step(run)} {ms(exposed_ms)} of it are copies that no kernel hides."


def _compute_detail(run: Window) -> str:
    text = f"{_step(run)} Waiting for input takes {percent(run.stall_ratio)} of the time"
    compute = run.phases.get(COMPUTE)
    if compute is not None:
        text += f", the training step itself {percent(compute.share_of(run.wall_ns))}"
    return f"{text}; less than {percent(THRESHOLDS.worth_saying_share)} of waiting is not worth a change."
