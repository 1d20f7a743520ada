"""FW305: something reads a device value at every step, and host and device take turns."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.step_model import removed_gain
from feedwatch.advise.symptoms import LOW_GPU_DATA_READY
from feedwatch.diagnose.shares import shares
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import ms, percent

# Without the read the host runs ahead. How much of the idle time goes away depends on the step's own overhead.
LEAST_REMOVED: Final = 0.2
EVERY_N_STEPS: Final = 50


def check(case: Case) -> Evidence | None:
    run, reader = case.run, case.facts.run.synchronises
    if run is None or reader is None or run.steps < THRESHOLDS.min_steady_steps:
        return None
    if case.facts.run.device_kind == "cpu":
        return None
    idle_share = shares(run, case.facts).launch
    if idle_share is None or idle_share < THRESHOLDS.worth_saying_share:
        return None
    step_ms = run.wall_ns / run.steps / 1e6
    return Evidence(
        says=(
            f"{reader} reads a value from the device at every step: the host waits for all queued "
            f"work, then the device "
            f"waits for the host. It idles {percent(idle_share)} of a {ms(step_ms)} step although its batch is there."
        ),
        numbers={"idle_share": idle_share, "step_ms": step_ms, "every_n_steps": float(EVERY_N_STEPS)},
        blanks={"reader": reader, "stride": str(EVERY_N_STEPS)},
    )


def predict(_case: Case, evidence: Evidence) -> Gain | None:
    step_ms = evidence.numbers["step_ms"]
    idle_ms = evidence.numbers["idle_share"] * step_ms
    because = f"{percent(LEAST_REMOVED)} to all of the {ms(idle_ms)} per step in which the device waits for the host"
    return removed_gain(step_ms, (idle_ms, LEAST_REMOVED * idle_ms), because)


RULE: Final = Rule(
    code="FW305",
    name="step-synchronises",
    title="Read device values every $stride steps, not at every step ($reader)",
    before="log(loss.item())  # $reader",
    after="""if step % $stride == 0:
    log(loss.item())  # $reader""",
    page=Page(
        sees=(
            "A read of a device value at every step (`.item()`, `.cpu()`, a progress bar that prints "
            "the loss), on a device that idles."
        ),
        why=(
            "The host normally runs ahead and queues work. A read makes it wait until the device has "
            "finished everything; then the device waits until the host has queued the next step."
        ),
        fix=(
            "Keep the value as a tensor and read it every N steps, or at the end of the epoch. In "
            "Lightning, `self.log` without `prog_bar=True` does not read."
        ),
        leave="When a value decides about the next step.",
        references=(
            "https://pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization",
            "https://github.com/Lightning-AI/pytorch-lightning/issues/21487",
        ),
    ),
    symptoms=(LOW_GPU_DATA_READY,),
    relieves=Bound.LAUNCH,
    edit_lines=1,
    needs=("Facts.transfers", "RunFacts.synchronises"),
    check=check,
    predict=predict,
)
