"""FW401: another profiler runs, so ours stays out of its way."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Page, Rule, no_gain
from feedwatch.advise.symptoms import FIGURES_MISSING
from feedwatch.model.verdict import Bound, Evidence


def check(case: Case) -> Evidence | None:
    run = case.facts.run
    # On a CPU there are no copies to see, so nothing is missed.
    if case.run is None or run.other_profiler is None or run.device_kind == "cpu":
        return None
    if case.facts.transfers is not None:
        return None
    return Evidence(
        says=(
            f"{run.other_profiler} is profiling this run, and there can be only one profiler per "
            f"process. feedwatch left it "
            "alone: waits and step times are measured, host-to-device copies and kernels are not."
        ),
        numbers={"profiler_windows": 0.0},
        blanks={"profiler": run.other_profiler},
    )


RULE: Final = Rule(
    code="FW401",
    name="profiler-busy",
    title="Copies were not measured: $profiler is profiling",
    before="# $profiler profiles this run",
    after="# run once without $profiler to see the copies",
    page=Page(
        sees="Another profiler that is active, or about to start, in the same process.",
        why=(
            "TensorFlow and PyTorch allow one profiler session at a time. If ours ran first, yours "
            "would fail or come out empty. So feedwatch abstains, and says what it did not measure."
        ),
        fix="Nothing is wrong. To see the copies, run once without the other profiler.",
        leave="Whenever the other profile is what you want.",
        references=(
            "https://www.tensorflow.org/guide/profiler",
            "https://pytorch.org/docs/stable/profiler.html",
        ),
    ),
    symptoms=(FIGURES_MISSING,),
    relieves=Bound.UNKNOWN,
    edit_lines=1,
    needs=("RunFacts.other_profiler",),
    check=check,
    predict=no_gain,
)
