"""FW121: the pipeline starts on the next batch only when the step asks for it."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.tf_data import HANDOVER_MS, last_working_stage, starved_tf_data, works_ahead
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import place
from feedwatch.advise.step_model import StepTimes, Supply, supplied_gain
from feedwatch.advise.symptoms import GPU_NO_FASTER, SUM_OF_BOTH, SWINGING_GPU
from feedwatch.model.pipeline import TfDataFacts
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import ms


def check(case: Case) -> Evidence | None:
    look = starved_tf_data(case)
    if look is None or works_ahead(look.data):
        return None
    last, times = last_working_stage(look.data), look.times
    return Evidence(
        says=(
            f"The pipeline ends in {place(last)}, without a prefetch: the step waits {ms(times.wait_ms)} for its "
            f"batch, then the pipeline waits {ms(times.rest_ms)} for the step. They take turns."
        ),
        numbers={
            "wait_ms": times.wait_ms,
            "rest_ms": times.rest_ms,
            "step_ms": times.step_ms,
            "production_ms": _production_ms(case, look.data, times),
        },
        blanks={"last": place(last)},
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    look = starved_tf_data(case)
    if look is None:
        return None
    times, production_ms = look.times, evidence.numbers["production_ms"]
    because = (
        f"a batch takes {ms(production_ms)} to make, the rest of the step {ms(times.rest_ms)}; side by side "
        f"the longer of both instead of {ms(times.step_ms)}"
    )
    return supplied_gain(case, times, Supply(production_ms, handover_ms=HANDOVER_MS), because)


def _production_ms(case: Case, data: TfDataFacts, times: StepTimes) -> float:
    """Parallel stages already work ahead during the step, so a batch takes longer to make than the wait shows."""
    pipeline = case.facts.pipeline
    ahead = any(stage.parallelism is not None for stage in data.stages)
    if ahead and pipeline.load_ms is not None and pipeline.lanes:
        return max(times.wait_ms, min(pipeline.load_ms / pipeline.lanes, times.step_ms))
    return times.wait_ms


RULE: Final = Rule(
    code="FW121",
    name="missing-prefetch",
    title="End the pipeline with .prefetch(tf.data.AUTOTUNE)",
    before="dataset = dataset  # ends in $last",
    after="dataset = dataset.prefetch(tf.data.AUTOTUNE)  # last, after $last",
    page=Page(
        sees="A tf.data pipeline that does not end in `prefetch`, in a run that waits for its input.",
        why=(
            "tf.data works on demand: without a prefetch at the end, the last stages run only while the "
            "training step waits for them, and stand still while it computes. A step costs the sum of "
            "both. Keras appends a prefetch for arrays, generators and PyDataset, but not for a "
            "`tf.data.Dataset`."
        ),
        fix="Make `.prefetch(tf.data.AUTOTUNE)` the last call of the pipeline, after `batch`.",
        leave="When memory is so short that even one more batch does not fit.",
        references=(
            "https://www.tensorflow.org/guide/data_performance#prefetching",
            "https://www.tensorflow.org/api_docs/python/tf/data/Dataset#prefetch",
        ),
    ),
    symptoms=(SWINGING_GPU, SUM_OF_BOTH, GPU_NO_FASTER),
    relieves=Bound.INPUT,
    edit_lines=1,
    needs=("PipelineFacts.tf_data",),
    check=check,
    predict=predict,
)
