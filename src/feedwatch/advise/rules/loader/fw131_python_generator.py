"""FW131: fit reads from a plain Python generator."""

import math
from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.cpu import computes
from feedwatch.advise.questions.loader import one_lane_load_ms, supplied
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.step_model import Supply, cpu_budget, input_bound_times, supplied_gain
from feedwatch.advise.symptoms import GPU_NO_FASTER, ONE_BUSY_CPU
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, ms


def check(case: Case) -> Evidence | None:
    times, pipeline, budget = input_bound_times(case), case.facts.pipeline, cpu_budget(case)
    if times is None or budget is None or pipeline.kind != "generator":
        return None
    load = one_lane_load_ms(case, times)
    if load is None:
        return None
    needed = math.ceil(load / max(times.rest_ms, 0.01 * load) - 1e-6)
    workers = max(1, min(needed, math.floor(budget + 1e-6)))
    return Evidence(
        says=(
            f"The generator makes one batch at a time, {ms(load)} each, in the training process; the "
            f"rest of the step "
            f"takes {ms(times.rest_ms)}. A generator cannot be split among workers: as a PyDataset the same code "
            f"runs in {count(workers, 'process', 'processes')} on {count(budget, 'CPU')}."
        ),
        numbers={
            "load_ms": load,
            "rest_ms": times.rest_ms,
            "wait_ms": times.wait_ms,
            "cpu_budget": budget,
            "workers_advised": float(workers),
        },
        blanks={"workers": str(workers)},
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    times = input_bound_times(case)
    if times is None:
        return None
    load = evidence.numbers["load_ms"]
    # Generators that only wait need no CPU, however many run side by side.
    cpu_ms = 0.0 if computes(case, load) is False else load
    supply = Supply(load, evidence.numbers["workers_advised"], cpu_ms)
    because = (
        f"{supplied(supply.lanes, supply.period_ms)}; the rest of the step needs "
        f"{ms(times.rest_ms)} of the {ms(times.step_ms)} it takes now"
    )
    return supplied_gain(case, times, supply, because)


RULE: Final = Rule(
    code="FW131",
    name="python-generator",
    title="Turn the generator into a PyDataset with workers=$workers",
    before="model.fit(generator, steps_per_epoch=steps)",
    after="""class Batches(keras.utils.PyDataset):
    def __init__(self, steps, **kwargs):
        super().__init__(**kwargs)
        self.steps = steps

    def __len__(self):
        return self.steps

    def __getitem__(self, index):
        return make_batch(index)  # what the generator yields for batch number `index`


model.fit(Batches(steps, workers=$workers, use_multiprocessing=True))""",
    page=Page(
        sees="Keras `fit` on a Python generator in a run that waits for its input.",
        why=(
            "A generator has one position and one thread of control: nobody can make batch 7 while "
            "batch 6 is being made. Its code also shares the interpreter's lock with the training loop."
        ),
        fix=(
            "Write it as a `keras.utils.PyDataset`, where every batch has a number and workers make "
            "several at once, or as a `tf.data` pipeline with TensorFlow operations."
        ),
        leave="When batches depend on one another, or come from a live source in order.",
        references=(
            "https://keras.io/api/utils/python_utils/#pydataset-class",
            "https://www.tensorflow.org/guide/data",
            "https://github.com/tensorflow/tensorflow/issues/47633",
        ),
    ),
    symptoms=(ONE_BUSY_CPU, GPU_NO_FASTER),
    relieves=Bound.INPUT,
    edit_lines=12,
    needs=("HostFacts.cpu_budget",),
    check=check,
    predict=predict,
)
