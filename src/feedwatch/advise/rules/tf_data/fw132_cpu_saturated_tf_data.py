"""FW132: tf.data already uses every CPU there is."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.cpu import cpu_saturated
from feedwatch.advise.questions.tf_data import TfLook, changed_gain, lanes, slowest_stage, starved_tf_data
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import comment, function_name, place
from feedwatch.advise.step_model import cpu_budget
from feedwatch.advise.symptoms import ALL_CPUS_BUSY, MORE_WORKERS_NO_HELP
from feedwatch.model.pipeline import TfStage
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, ms, percent

# Cheaper preprocessing saves a third of the work at least. Done once and offline, it saves nearly all of it.
BEST_LEFT: Final = 0.05
WORST_LEFT: Final = 0.67


def check(case: Case) -> Evidence | None:
    look, budget, used = starved_tf_data(case), cpu_budget(case), case.facts.host.cpu_used
    stage = None if look is None else _widest(look)
    if look is None or stage is None or budget is None or used is None or cpu_saturated(case) is not True:
        return None
    return Evidence(
        says=(
            f"{place(stage)} needs {ms(stage.ms_per_batch or 0.0)} of CPU time per batch and already runs "
            f"{lanes(stage)} calls at once; {count(used, 'CPU')} of {count(budget, 'CPU')} are in use. More "
            "parallelism will not help: make the work of a batch smaller."
        ),
        numbers={
            "stage_ms": stage.ms_per_batch or 0.0,
            "parallel_calls": float(lanes(stage)),
            "cpu_used": used,
            "cpu_budget": budget,
            "rest_ms": look.times.rest_ms,
            "wait_ms": look.times.wait_ms,
        },
        blanks={"function": function_name(stage), "comment": comment(stage), "place": place(stage)},
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    look = starved_tf_data(case)
    stage = None if look is None else _widest(look)
    if look is None or stage is None:
        return None
    because = (
        f"with {percent(1 - WORST_LEFT)} to {percent(1 - BEST_LEFT)} of its "
        f"{ms(evidence.numbers['stage_ms'])} per batch done offline or in the model"
    )
    return changed_gain(case, look, stage, lanes=lanes(stage), left=(BEST_LEFT, WORST_LEFT), because=because)


def _widest(look: TfLook) -> TfStage | None:
    """The stage with the most work, when AUTOTUNE chooses how many of its calls run in parallel."""
    timed = [stage for stage in look.data.stages if stage.ms_per_batch is not None]
    stage = max(timed, key=lambda one: one.ms_per_batch or 0.0, default=None)
    return stage if stage is not None and stage.parallelism == -1 and slowest_stage(look.data) else None


RULE: Final = Rule(
    code="FW132",
    name="cpu-saturated-tf-data",
    title="Make $place cheaper: all CPUs are busy with it",
    before="dataset = dataset.map($function, num_parallel_calls=tf.data.AUTOTUNE)$comment",
    after="""# Once, before training: store what $function makes, and read that instead.
dataset.map($function, num_parallel_calls=tf.data.AUTOTUNE).save("prepared")
dataset = tf.data.Dataset.load("prepared")""",
    page=Page(
        sees=(
            "An input-bound tf.data pipeline whose parallelism is chosen by AUTOTUNE, in a process that "
            "uses its whole CPU budget."
        ),
        why=(
            "AUTOTUNE can share out CPUs; it cannot make more of them. When all are busy, only less "
            "work per batch helps."
        ),
        fix=(
            "Store the data in the form that training needs (smaller images, decoded records), cache "
            "what is the same in every epoch, move augmentation into the model as Keras layers that run "
            "on the device, or give the process more CPUs."
        ),
        leave="When the CPUs are busy with somebody else's work: come back when they are free.",
        references=(
            "https://www.tensorflow.org/guide/data_performance",
            "https://keras.io/guides/preprocessing_layers/",
        ),
    ),
    symptoms=(ALL_CPUS_BUSY, MORE_WORKERS_NO_HELP),
    relieves=Bound.INPUT,
    edit_lines=20,
    needs=("HostFacts.cpu_budget", "HostFacts.cpu_used", "TfStage.ms_per_batch", "TfStage.parallelism"),
    check=check,
    predict=predict,
)
