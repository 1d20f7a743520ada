"""FW303: the train function is traced again and again."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.step_model import run_gain
from feedwatch.advise.symptoms import IRREGULAR_STEPS
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.steps import COMPUTE
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import percent, seconds

# One late trace is normal (a last, smaller batch). The third one is a pattern.
LEAST_RETRACES: Final = 3
# Tracing is not the only reason why these steps are slow.
LEAST_SAVED: Final = 0.5


def check(case: Case) -> Evidence | None:
    retraces, compute = case.facts.run.retraces, case.phase(COMPUTE)
    if retraces is None or retraces < LEAST_RETRACES or case.run is None or compute is None:
        return None
    lost_ns = max(0.0, compute.total_ns - compute.median_ns * case.run.steps)
    share = lost_ns / case.run.wall_ns if case.run.wall_ns > 0 else 0.0
    if share < THRESHOLDS.worth_saying_share:
        return None
    return Evidence(
        says=(
            f"The train function was traced {retraces} more times after the start. Steps that are longer than usual "
            f"took {seconds(lost_ns / 1e9)} more, {percent(share)} of the time: each new shape or "
            f"Python value is a new trace."
        ),
        numbers={"retraces": float(retraces), "lost_s": lost_ns / 1e9, "share": share},
        blanks={"batch_size": str(case.facts.run.batch_size or 32)},
    )


def predict(_case: Case, evidence: Evidence) -> Gain | None:
    share = evidence.numbers["share"]
    because = f"{percent(LEAST_SAVED)} to all of the {seconds(evidence.numbers['lost_s'])} in slow steps is tracing"
    return run_gain((share, LEAST_SAVED * share), because)


RULE: Final = Rule(
    code="FW303",
    name="retracing",
    title="Keep the shapes fixed: drop_remainder=True",
    before="dataset = dataset.batch($batch_size)",
    after="dataset = dataset.batch($batch_size, drop_remainder=True)",
    page=Page(
        sees=("A train function that is traced again in steady state, with steps that take much longer than usual."),
        why=(
            "TensorFlow, JAX and torch.compile build a program for the shapes and Python values they "
            "saw. A new shape (the smaller last batch, texts padded to different lengths) or a Python "
            "number as argument is a new program, which takes seconds to build."
        ),
        fix=(
            "Keep shapes fixed: `drop_remainder=True`, pad to a few fixed lengths, pass tensors instead "
            "of Python numbers."
        ),
        leave="When there are a handful of shapes in all: they are traced once each, and then known.",
        references=("https://www.tensorflow.org/guide/function#controlling_retracing",),
    ),
    symptoms=(IRREGULAR_STEPS,),
    relieves=Bound.COMPUTE,
    edit_lines=1,
    needs=("RunFacts.retraces",),
    check=check,
    predict=predict,
)
