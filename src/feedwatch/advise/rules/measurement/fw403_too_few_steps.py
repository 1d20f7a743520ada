"""FW403: too few steady steps for a verdict."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.rule import Page, Rule, no_gain
from feedwatch.advise.symptoms import FIGURES_MISSING
from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.verdict import Bound, Evidence
from feedwatch.words import count


def check(case: Case) -> Evidence | None:
    measured, needed = case.counts.measured, THRESHOLDS.min_steady_steps
    # Without a steady step the run was a smoke test, and nobody asked for advice.
    if not 0 < measured < needed:
        return None
    steps = case.counts.warmup + measured
    return Evidence(
        says=(
            f"{count(measured, 'steady step')} were measured after "
            f"{count(case.counts.warmup, 'warm-up step')}; a verdict "
            f"needs {needed}. Fewer say more about noise than about the pipeline."
        ),
        numbers={
            "steady_steps": float(measured),
            "warmup_steps": float(case.counts.warmup),
            "steps_needed": float(needed),
        },
        blanks={
            "steps": str(steps + needed),
            "after": LONGER.get(case.facts.run.framework, LONGER["lightning"]),
        },
    )


LONGER: Final = {
    "keras": "model.fit(data, epochs=3)  # or more steps_per_epoch",
    "lightning": "trainer = Trainer(max_steps=100)",
    "torch": "for epoch in range(3):\n    for batch in watch(loader): ...",
}

RULE: Final = Rule(
    code="FW403",
    name="too-few-steps",
    title="Train $steps steps or more for a verdict",
    before="# too short to measure",
    after="$after",
    page=Page(
        sees="A run with some steady steps, but fewer than a verdict needs.",
        why=(
            "The first steps trace, compile and fill queues; they are left out. The median of the few "
            "that remain would be a guess."
        ),
        fix="Train some more steps.",
        leave="When the run is only a smoke test.",
        references=("https://keras.io/api/models/model_training_apis/",),
    ),
    symptoms=(FIGURES_MISSING,),
    relieves=Bound.UNKNOWN,
    edit_lines=1,
    needs=(),
    check=check,
    predict=no_gain,
)
