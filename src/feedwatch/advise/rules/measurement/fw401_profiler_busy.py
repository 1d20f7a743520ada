"""FW401: another profiler runs, so ours stays out of its way."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Found, rule
from feedwatch.advise.symptoms import FIGURES_MISSING
from feedwatch.model.verdict import Bound

PAGE: Final = """
## What it sees
Another profiler that is active, or about to start, in the same process.

## Why it costs
TensorFlow and PyTorch allow one profiler session at a time. If ours ran first, yours would fail or come out empty. So
feedwatch abstains, and says what it did not measure.

## Fix
Nothing is wrong. To see the copies, run once without the other profiler.

## When to leave it
Whenever the other profile is what you want.

## References
- https://www.tensorflow.org/guide/profiler
- https://pytorch.org/docs/stable/profiler.html
"""


@rule(
    PAGE,
    knob="measurement",
    relieves=Bound.UNKNOWN,
    symptoms=(FIGURES_MISSING,),
    edit_lines=1,
    needs=("RunFacts.other_profiler",),
)
def RULE(case: Case) -> Found | None:
    run = case.facts.run
    # On a CPU there are no copies to see, so nothing is missed.
    if case.run is None or run.other_profiler is None or run.device_kind == "cpu":
        return None
    if case.facts.transfers is not None:
        return None
    return Found(
        title=f"Copies were not measured: {run.other_profiler} is profiling",
        says=(
            f"{run.other_profiler} is profiling this run, and there can be only one profiler per process. feedwatch "
            "left it alone: waits and step times are measured, host-to-device copies and kernels are not."
        ),
        numbers={"profiler_windows": 0.0},
        before=f"# {run.other_profiler} profiles this run",
        after=f"# run once without {run.other_profiler} to see the copies",
    )
