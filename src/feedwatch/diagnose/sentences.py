"""The verdict in words that a newcomer understands, with the run's own numbers. All of them are means, and add up."""

from feedwatch.diagnose.shares import Shares, exposed_ms_per_step
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.account import EPOCH_START, GAP, VALIDATION, Account
from feedwatch.model.facts import Facts
from feedwatch.model.steps import COMPUTE, INPUT_WAIT, OTHER, Window
from feedwatch.model.verdict import Bound
from feedwatch.words import ms, percent


def describe(bound: Bound, parts: Shares, run: Window, facts: Facts, account: Account) -> tuple[str, str]:
    """(title, detail)"""
    if bound is Bound.INPUT:
        title = f"{_who(run, facts)} waits for data {percent(account.stall_ratio)} of the time"
        return title, _input_detail(facts, account)
    if bound is Bound.TRANSFER:
        title = f"Copying batches to the device takes {percent(parts.transfer)} of every step"
        return title, _copy_detail(account, facts)
    if bound is Bound.LAUNCH:
        title = f"The device idles {percent(parts.launch)} of the time although its batch is there"
        return title, f"{_batch(account)} The kernels are too short for the time it takes to launch them."
    if bound is Bound.HOST:
        title = f"The loop spends {percent(parts.host)} of the time between steps"
        return title, f"{_batch(account)} {_between(account)} neither input nor training: callbacks, logging."
    if bound is Bound.COMPUTE:
        return _compute_title(facts), _compute_detail(account)
    return (
        "The input wait could not be measured",
        f"{_batch(account)} See the notes for what was not measured and why.",
    )


def _who(run: Window, facts: Facts) -> str:
    if facts.run.device_kind == "cpu":
        return "Training"
    # Without a device clock only the loop was seen, except where the framework itself syncs at every step.
    seen = run.starved_ns is not None or facts.run.backend == "tensorflow"
    return "The GPU" if seen else "The training loop"


def _batch(account: Account) -> str:
    return f"A batch takes {ms(account.batch_ms)} on average."


def _between(account: Account) -> str:
    between_ms = (account.ms(OTHER) or 0.0) + (account.ms(GAP) or 0.0)
    return f"{ms(between_ms)} of it are"


def _input_detail(facts: Facts, account: Account) -> str:
    wait_ms, start_ms = account.ms(INPUT_WAIT) or 0.0, account.ms(EPOCH_START) or 0.0
    if account.starved_ns is not None:
        wait_ms = account.starved_ns / max(1, account.batches) / 1e6
    text = f"{_batch(account)} {ms(wait_ms)} of it are spent waiting for the next batch"
    text += f", {ms(start_ms)} more at epoch starts." if start_ms >= 0.01 * account.batch_ms else "."
    slowest = next((stage for stage in facts.pipeline.stages if stage.bottleneck), None)
    if slowest is not None:
        text += f" The slowest part of the pipeline is {slowest.name}"
        text += f" ({slowest.detail})" if slowest.detail else ""
        text += f", {ms(slowest.ms_per_batch)} per batch." if slowest.ms_per_batch is not None else "."
    return text


def _copy_detail(account: Account, facts: Facts) -> str:
    exposed_ms = exposed_ms_per_step(facts)
    if exposed_ms is None or account.starved_ns is not None:
        return f"{_batch(account)} The copy stands in the compute stream, so the device cannot work meanwhile."
    return f"{_batch(account)} {ms(exposed_ms)} of every step are copies that no kernel hides."


def _compute_title(facts: Facts) -> str:
    """Without a profiler window nobody sees gaps between kernels, but NVML sees how often any kernel ran."""
    busy = None if facts.device is None else facts.device.utilisation
    if facts.run.device_kind == "cpu" or busy is None or busy >= THRESHOLDS.busy_utilisation:
        return "Input is not the limit: training is busy computing"
    return f"Input is not the limit; the device is busy {percent(busy)} of the time (NVML)"


def _compute_detail(account: Account) -> str:
    text = f"{_batch(account)} Waiting for input takes {percent(account.stall_ratio)} of the time"
    compute, checked = account.share(COMPUTE), account.share(VALIDATION) or 0.0
    if compute is not None:
        text += f", the training step itself {percent(compute)}"
    if checked >= THRESHOLDS.worth_saying_share:
        text += f", validation {percent(checked)}"
    return f"{text}. Below {percent(THRESHOLDS.bounds_share)} of waiting the input does not bound a run."
