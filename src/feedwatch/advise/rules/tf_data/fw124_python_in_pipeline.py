"""FW124: Python code inside tf.data is the slowest stage, and the interpreter's lock lets one call run at a time."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.tf_data import (
    TfLook,
    changed_gain,
    is_python,
    python_is_limit,
    slowest_stage,
    starved_tf_data,
)
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import comment, function_name, place
from feedwatch.advise.step_model import cpu_budget
from feedwatch.advise.symptoms import GPU_NO_FASTER, MORE_WORKERS_NO_HELP, ONE_BUSY_CPU
from feedwatch.model.pipeline import TfStage
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, ms, percent

# TensorFlow operations do the same work without the interpreter. Where the Python code loops, that takes a tenth of the
# time or less.
BEST_LEFT: Final = 0.02
# At worst a rewrite keeps half of the work in Python.
WORST_LEFT: Final = 0.5


def check(case: Case) -> Evidence | None:
    look, budget = starved_tf_data(case), cpu_budget(case)
    stage = None if look is None else _python_stage(case, look)
    if look is None or stage is None or budget is None:
        return None
    now_ms = stage.ms_per_batch or 0.0
    kind = "the generator" if stage.op == "FromGenerator" else "Python inside the map"
    return Evidence(
        says=(
            f"{place(stage)} is {kind}: {ms(now_ms)} per batch, the rest of the step takes {ms(look.times.rest_ms)}. "
            f"The interpreter's lock lets one call run at a time on {count(budget, 'CPU')}: more parallel calls will "
            "not help."
        ),
        numbers={
            "python_ms": now_ms,
            "rest_ms": look.times.rest_ms,
            "wait_ms": look.times.wait_ms,
            "cpu_budget": budget,
        },
        blanks={"function": function_name(stage), "comment": comment(stage), "place": place(stage)},
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    look = starved_tf_data(case)
    stage = None if look is None else _python_stage(case, look)
    if look is None or stage is None:
        return None
    because = (
        f"with {percent(1 - WORST_LEFT)} or more of its {ms(evidence.numbers['python_ms'])} per batch moved to "
        f"TensorFlow operations or to processes; the rest of the step needs {ms(look.times.rest_ms)}"
    )
    return changed_gain(case, look, stage, lanes=1, left=(BEST_LEFT, WORST_LEFT), because=because)


def _python_stage(case: Case, look: TfLook) -> TfStage | None:
    stage = slowest_stage(look.data)
    if stage is None or not is_python(stage):
        return None
    return stage if python_is_limit(case, stage) is True else None


RULE: Final = Rule(
    code="FW124",
    name="python-in-pipeline",
    title="Replace the Python code of $place by TensorFlow operations",
    before="dataset = dataset.map(lambda *args: tf.py_function($function, args, out_types))$comment",
    after="""# $function written with tf.* operations, without py_function, numpy_function or from_generator:
dataset = dataset.map($function, num_parallel_calls=tf.data.AUTOTUNE)$comment""",
    page=Page(
        sees=(
            "A `py_function`, `numpy_function` or `from_generator` that is the slowest stage of the "
            "pipeline, in a process that computes."
        ),
        why=(
            "Every call has to enter the Python interpreter, and its lock lets one thread in at a time. "
            "`num_parallel_calls` starts more calls; they take turns. The training loop needs the same "
            "lock."
        ),
        fix=(
            "Write the function with TensorFlow operations (`tf.io`, `tf.image`, `tf.strings`), which "
            "run in parallel without the interpreter. Where that is not possible, use a "
            "`keras.utils.PyDataset` with `workers` and `use_multiprocessing=True`, which runs it in "
            "processes."
        ),
        leave=(
            "When the Python code only waits (for a file, a server): the lock is free meanwhile and "
            "parallel calls help."
        ),
        references=(
            "https://www.tensorflow.org/api_docs/python/tf/py_function",
            "https://keras.io/api/utils/python_utils/#pydataset-class",
        ),
    ),
    symptoms=(ONE_BUSY_CPU, MORE_WORKERS_NO_HELP, GPU_NO_FASTER),
    relieves=Bound.INPUT,
    edit_lines=15,
    needs=("HostFacts.cpu_budget", "HostFacts.cpu_used", "TfStage.ms_per_batch"),
    check=check,
    predict=predict,
)
