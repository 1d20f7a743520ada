"""A PyDataset makes one batch at a time."""

from typing import Final

from feedwatch.advise.case import Case
from feedwatch.advise.questions.python_batches import (
    advised_pool,
    made_by,
    pooled,
    python_look,
    with_pool,
    with_pool_at_best,
    with_pool_at_worst,
)
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.snippets import identifier
from feedwatch.advise.symptoms import GPU_NO_FASTER, ONE_BUSY_CPU
from feedwatch.model.verdict import Bound
from feedwatch.words import ms

PAGE = """
## What it sees
A `keras.utils.PyDataset` with `workers=1` (the default) in a run that waits for its input.

## Why it costs
With one worker there is no pool: batches are made one after the other in the training process, and their Python code
shares the interpreter's lock with the training loop.

## Fix
Set `workers`, and `use_multiprocessing=True` when `__getitem__` computes rather than waits: on the object before
`fit`, or as arguments of `super().__init__(**kwargs)` in your class.

## When to leave it
When the data set cannot be sent to another process (open files, CUDA tensors) and its items compute: threads would
only take turns.

## References
- https://keras.io/api/utils/python_utils/#pydataset-class
- https://github.com/keras-team/keras/issues/17118
"""

# Keras' own default. Each place in the queue is a batch in memory.
QUEUE_SIZE: Final = 10


@rule(
    PAGE,
    knob="workers",
    relieves=Bound.INPUT,
    symptoms=(
        ONE_BUSY_CPU,
        GPU_NO_FASTER,
    ),
    edit_lines=1,
    needs=("HostFacts.cpu_budget", "PipelineFacts.pydataset"),
)
def RULE(case: Case) -> Found | None:
    look, data = python_look(case), case.facts.pipeline.pydataset
    if look is None or data is None or data.workers > 1:
        return None
    workers, processes = advised_pool(look)
    plan = with_pool(look, workers, processes=processes)
    why = "computing, and threads would take turns" if processes else "waiting or releases the interpreter's lock"
    name = identifier(data.class_name, "PyDataset")
    return Found(
        title=f"Give the PyDataset workers: workers={workers}, use_multiprocessing={processes}",
        says=(
            f"{data.class_name} makes one batch at a time, {ms(look.work.busy_ms)} each; the step takes "
            f"{ms(look.plan.step_ms)}. {pooled(workers, processes=processes).capitalize()} make them side by side, "
            f"because its work is mostly {why}."
        ),
        numbers=look.numbers | {"workers": float(data.workers), "workers_advised": float(workers)},
        before=f"data = {name}(...)  # workers={data.workers}",
        after=(
            f"data.workers = {workers}\ndata.use_multiprocessing = {processes}\n"
            f"data.max_queue_size = {max(QUEUE_SIZE, data.max_queue_size, 2 * workers)}"
        ),
        gain=look.supply.gain(
            with_pool_at_best(look, workers, processes=processes),
            made_by(look, workers, plan, processes=processes),
            worst=with_pool_at_worst(look, workers, processes=processes),
        ),
        alters=(Alters.RANDOMNESS,) if data.random else (),
    )
