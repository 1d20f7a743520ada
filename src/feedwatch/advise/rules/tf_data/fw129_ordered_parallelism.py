"""FW129: elements take very different times, and the fast ones wait behind the slow ones for their turn."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.tf_data import TfLook, lane_ms, lanes, slowest_stage, starved_tf_data
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import comment, function_name, place
from feedwatch.advise.step_model import serial_gain
from feedwatch.advise.symptoms import IRREGULAR_STEPS
from feedwatch.advise.wording import ms, times
from feedwatch.model.pipeline import TfStage
from feedwatch.model.verdict import Bound, Evidence, Gain

# Below this the parallel calls finish nearly together and order costs nothing.
SPREAD_OUT: Final = 3.0


def check(case: Case) -> Evidence | None:
    look = starved_tf_data(case)
    stage = None if look is None else _ordered(look)
    if look is None or stage is None or stage.spread is None or stage.spread < SPREAD_OUT:
        return None
    return Evidence(
        says=(
            f"{place(stage)} runs {lanes(stage)} calls at once, but gives the elements out in order; slow ones take "
            f"{times(stage.spread)} the usual time, and finished ones wait behind them. The step waits "
            f"{ms(look.times.wait_ms)}."
        ),
        numbers={
            "spread": stage.spread,
            "parallel_calls": float(lanes(stage)),
            "stage_ms": lane_ms(stage),
            "wait_ms": look.times.wait_ms,
            "rest_ms": look.times.rest_ms,
        },
        blanks={"function": function_name(stage), "comment": comment(stage), "place": place(stage)},
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    look = starved_tf_data(case)
    if look is None:
        return None
    # Without order the stage is as fast as the mean of its elements; at worst it was that already.
    best_wait_ms = max(0.0, evidence.numbers["stage_ms"] - look.times.rest_ms)
    because = f"out of order the stage supplies a batch every {ms(evidence.numbers['stage_ms'])} on average"
    return serial_gain(look.times, (min(best_wait_ms, look.times.wait_ms), look.times.wait_ms), because)


def _ordered(look: TfLook) -> TfStage | None:
    stage = slowest_stage(look.data)
    if stage is None or lanes(stage) < 2 or stage.op not in ("ParallelMap", "ParallelInterleave"):
        return None
    # As written for the stage, else as set for the whole pipeline, else tf.data's default: in order.
    in_order = stage.deterministic if stage.deterministic is not None else look.data.deterministic
    return None if in_order is False else stage


RULE: Final = Rule(
    code="FW129",
    name="ordered-parallelism",
    title="Let fast elements overtake in $place: deterministic=False",
    before="dataset = dataset.map($function, num_parallel_calls=tf.data.AUTOTUNE)$comment",
    after="""dataset = dataset.map(
    $function, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False
)$comment""",
    page=Page(
        sees=(
            "A parallel stage with element times that are spread out, which gives out its elements in "
            "order and is the slowest of the pipeline."
        ),
        why=(
            "With order kept, a finished element waits until all before it are finished. One slow "
            "element stops all parallel calls once their results have nowhere to go."
        ),
        fix=(
            "Pass `deterministic=False` to this stage. The order of the elements then changes from run "
            "to run, as it does anyway when you shuffle."
        ),
        leave="When runs must be reproducible, or when the order carries meaning (evaluation, time series).",
        references=("https://www.tensorflow.org/api_docs/python/tf/data/Dataset#map",),
    ),
    symptoms=(IRREGULAR_STEPS,),
    relieves=Bound.INPUT,
    edit_lines=1,
    check=check,
    predict=predict,
)
