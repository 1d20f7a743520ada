"""FW130: a PyDataset makes one batch at a time."""

import math
from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.cpu import computes
from feedwatch.advise.questions.loader import one_lane_load_ms, supplied
from feedwatch.advise.rule import Page, Rule
from feedwatch.advise.snippets import identifier
from feedwatch.advise.step_model import Supply, cpu_budget, input_bound_times, supplied_gain
from feedwatch.advise.symptoms import GPU_NO_FASTER, ONE_BUSY_CPU
from feedwatch.model.verdict import Bound, Evidence, Gain
from feedwatch.words import count, ms

# Keras' own default. Each place in the queue is a batch in memory.
QUEUE_SIZE: Final = 10
# Threads that wait may outnumber the CPUs.
MOST_THREADS_PER_CPU: Final = 4


def check(case: Case) -> Evidence | None:
    times, data, budget = input_bound_times(case), case.facts.pipeline.pydataset, cpu_budget(case)
    if times is None or data is None or budget is None or data.workers > 1:
        return None
    load = data.item_ms if data.item_ms is not None else one_lane_load_ms(case, times)
    if load is None:
        return None
    # Items that compute take turns at the interpreter's lock. Where that is not known, processes help in both cases.
    computing = computes(case, load) is not False
    carried = math.floor(budget + 1e-6) * (1 if computing else MOST_THREADS_PER_CPU)
    needed = math.ceil(load / max(times.rest_ms, 0.01 * load) - 1e-6)
    # One process works beside the loop. One thread is there already.
    workers = max(1 if computing else 2, min(needed, carried))
    kind = "process" if computing else "thread"
    return Evidence(
        says=(
            f"{data.class_name} makes one batch at a time, {ms(load)} each; the rest of the step takes "
            f"{ms(times.rest_ms)}. With {count(budget, 'CPU')} for this process, workers={workers} "
            f"({kind}{'es' if computing else 's'}, because its items "
            f"{'compute' if computing else 'mostly wait'}) make them side by side."
        ),
        numbers={
            "load_ms": load,
            "rest_ms": times.rest_ms,
            "wait_ms": times.wait_ms,
            "cpu_budget": budget,
            "workers": float(data.workers),
            "workers_advised": float(workers),
            "cpu_share": 1.0 if computing else 0.0,
        },
        blanks={
            "data": identifier(data.class_name, "PyDataset"),
            "workers": str(workers),
            "now": str(data.workers),
            "processes": str(computing),
            "queue": str(max(QUEUE_SIZE, data.max_queue_size, 2 * workers)),
        },
    )


def predict(case: Case, evidence: Evidence) -> Gain | None:
    times = input_bound_times(case)
    if times is None:
        return None
    load, lanes = evidence.numbers["load_ms"], evidence.numbers["workers_advised"]
    supply = Supply(load, lanes, load * evidence.numbers["cpu_share"])
    because = (
        f"{supplied(lanes, supply.period_ms)}; the rest of the step needs "
        f"{ms(times.rest_ms)} of the {ms(times.step_ms)} it takes now"
    )
    return supplied_gain(case, times, supply, because)


RULE: Final = Rule(
    code="FW130",
    name="serial-pydataset",
    title="Give the PyDataset workers: workers=$workers",
    before="data = $data(...)  # workers=$now",
    after="""data.workers = $workers
data.use_multiprocessing = $processes
data.max_queue_size = $queue""",
    page=Page(
        sees="A `keras.utils.PyDataset` with `workers=1` (the default) in a run that waits for its input.",
        why=(
            "With one worker there is no pool: batches are made one after the other in the training "
            "process, and their Python code shares the interpreter's lock with the training loop."
        ),
        fix=(
            "Set `workers`, and `use_multiprocessing=True` when `__getitem__` computes rather than "
            "waits: on the object before `fit`, or as arguments of `super().__init__(**kwargs)` in your "
            "class."
        ),
        leave=(
            "When the data set cannot be sent to another process (open files, CUDA tensors) and its "
            "items compute: threads would only take turns."
        ),
        references=(
            "https://keras.io/api/utils/python_utils/#pydataset-class",
            "https://github.com/keras-team/keras/issues/17118",
        ),
    ),
    symptoms=(ONE_BUSY_CPU, GPU_NO_FASTER),
    relieves=Bound.INPUT,
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "PipelineFacts.pydataset"),
    check=check,
    predict=predict,
)
