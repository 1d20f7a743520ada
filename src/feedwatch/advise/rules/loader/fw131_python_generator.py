"""fit reads from a plain Python generator."""

from feedwatch.advise.case import Case
from feedwatch.advise.questions.python_batches import (
    advised_pool,
    made_by,
    pooled,
    python_look,
    with_pool,
    with_pool_at_best,
)
from feedwatch.advise.rule import Alters, Found, rule
from feedwatch.advise.symptoms import GPU_NO_FASTER, ONE_BUSY_CPU
from feedwatch.model.verdict import Bound
from feedwatch.words import ms

PAGE = """
## What it sees
Keras `fit` on a Python generator in a run that waits for its input.

## Why it costs
A generator has one position and one thread of control: nobody can make batch 7 while batch 6 is being made. Its code
also shares the interpreter's lock with the training loop.

## Fix
Write it as a `keras.utils.PyDataset`, where every batch has a number and workers make several at once, or as a
`tf.data` pipeline with TensorFlow operations.

## When to leave it
When batches depend on one another, or come from a live source in order.

## References
- https://keras.io/api/utils/python_utils/#pydataset-class
- https://www.tensorflow.org/guide/data
- https://github.com/tensorflow/tensorflow/issues/47633
"""


@rule(
    PAGE,
    knob="workers",
    relieves=Bound.INPUT,
    symptoms=(
        ONE_BUSY_CPU,
        GPU_NO_FASTER,
    ),
    edit_lines=12,
    needs=("HostFacts.cpu_budget",),
)
def RULE(case: Case) -> Found | None:
    look = python_look(case)
    if look is None or case.facts.pipeline.kind != "generator":
        return None
    workers, processes = advised_pool(look)
    plan = with_pool(look, workers, processes=processes)
    return Found(
        title=f"Turn the generator into a PyDataset with workers={workers}",
        says=(
            f"The generator makes one batch at a time, {ms(look.work.busy_ms)} each, {ms(look.work.wait_ms)} of it "
            f"waiting; the step takes {ms(look.plan.step_ms)}. A generator cannot be divided: as a PyDataset the same "
            f"code runs in {pooled(workers, processes=processes)} at once."
        ),
        numbers=look.numbers | {"workers_advised": float(workers)},
        before="model.fit(generator, steps_per_epoch=steps)",
        after=f"""class Batches(keras.utils.PyDataset):
    def __init__(self, steps, **kwargs):
        super().__init__(**kwargs)
        self.steps = steps

    def __len__(self):
        return self.steps

    def __getitem__(self, index):
        return make_batch(index)  # what the generator yields for batch number `index`


model.fit(Batches(steps, workers={workers}, use_multiprocessing={processes}))""",
        gain=look.supply.gain(
            with_pool_at_best(look, workers, processes=processes),
            made_by(look, workers, plan, processes=processes),
            worst=plan,
        ),
        alters=(Alters.CODE,),
    )
