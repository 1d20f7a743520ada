"""FW403: too few steady steps for a verdict."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Found, rule
from feedwatch.advise.symptoms import FIGURES_MISSING
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound
from feedwatch.words import count

LONGER: Final = {
    "keras": "model.fit(..., epochs=3)  # or more steps_per_epoch",
    "lightning": "trainer = Trainer(..., max_steps=100)",
    "torch": "for epoch in range(3):\n    for batch in watch(loader): ...",
}

PAGE: Final = """
## What it sees
A run with some steady steps, but fewer than a verdict needs.

## Why it costs
The first steps trace, compile and fill queues; they are left out. The median of the few that remain would be a guess.

## Fix
Train some more steps.

## When to leave it
When the run is only a smoke test.

## References
- https://keras.io/api/models/model_training_apis/
"""


@rule(
    PAGE,
    knob="measurement",
    relieves=Bound.UNKNOWN,
    symptoms=(FIGURES_MISSING,),
    edit_lines=1,
    needs=(),
)
def RULE(case: Case) -> Found | None:
    measured, warmup, needed = case.counts.measured, case.counts.warmup, THRESHOLDS.min_steady_steps
    # Without a steady step the run was a smoke test, and nobody asked for advice.
    if not 0 < measured < needed:
        return None
    return Found(
        title=f"Train {warmup + measured + needed} steps or more for a verdict",
        says=(
            f"{count(measured, 'steady step')} were measured after {count(warmup, 'warm-up step')}; a verdict needs "
            f"{needed}. Fewer say more about noise than about the pipeline."
        ),
        numbers={
            "steady_steps": float(measured),
            "warmup_steps": float(warmup),
            "steps_needed": float(needed),
        },
        before="# too short to measure",
        after=LONGER.get(case.facts.run.framework, LONGER["lightning"]),
    )
