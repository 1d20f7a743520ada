"""Loops of one's own with Keras models on one backend; prints one JSON line per row."""

import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import asdict

BACKEND = sys.argv[1]
os.environ["KERAS_BACKEND"] = BACKEND

import keras  # noqa: E402
import numpy as np  # noqa: E402

import feedwatch.keras  # noqa: E402
from feedwatch.errors import SettingError  # noqa: E402
from tests.contract.keras.own_loops_scripted import COMPUTE_MS, STEPS, WAIT_MS  # noqa: E402

X = np.random.default_rng(0).random((160, 8)).astype("float32")


def tf_data():
    import tensorflow as tf

    data = tf.data.Dataset.from_tensor_slices((X, X[:, :1])).shuffle(160, seed=3)
    return data.map(scaled).batch(16).prefetch(2)


def scaled(x, y):
    return x * 2.0, y


def torch_loader():
    import torch

    return torch.utils.data.DataLoader(Rows(), batch_size=16, shuffle=True, num_workers=2)


class Rows:
    def __len__(self):
        return len(X)

    def __getitem__(self, index):
        return X[index], X[index, :1]


def trained(data, epochs=2):
    """The weights after a loop as the backend's own tutorial writes it, and the next random draw."""
    keras.utils.set_random_seed(1)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(1)
    batches = data()
    model = keras.Sequential(
        [keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dropout(0.5), keras.layers.Dense(1)]
    )
    optimizer = keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)
    step = STEPS_OF[BACKEND](model, optimizer)
    for _ in range(epochs):
        for x, y in batches:
            step(x, y)
    draw = keras.random.uniform((2,), seed=keras.random.SeedGenerator(7))
    weights = [np.asarray(keras.ops.convert_to_numpy(each)).tolist() for each in model.weights]
    return weights, keras.ops.convert_to_numpy(draw).tolist(), np.random.random(2).tolist()  # noqa: NPY002


def tape_step(model, optimizer):
    import tensorflow as tf

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)

    return step


def jax_step(model, optimizer):
    import jax

    def loss(trainable, fixed, x, y):
        predicted, fixed = model.stateless_call(trainable, fixed, x, training=True)
        return jax.numpy.mean((predicted - y) ** 2), fixed

    gradient = jax.jit(jax.value_and_grad(loss, has_aux=True))
    state = [[each.value for each in part] for part in (model.trainable_variables, model.non_trainable_variables)]
    state.append([each.value for each in optimizer.variables])

    def step(x, y):
        (_, fixed), gradients = gradient(state[0], state[1], np.asarray(x), np.asarray(y))
        state[0], state[2] = optimizer.stateless_apply(state[2], gradients, state[0])
        state[1] = fixed
        for variables, values in ((model.trainable_variables, state[0]), (model.non_trainable_variables, fixed)):
            for variable, value in zip(variables, values, strict=True):
                variable.assign(value)

    return step


def torch_step(model, optimizer):
    import torch

    def step(x, y):
        model.zero_grad()
        loss = torch.mean((model(torch.as_tensor(np.asarray(x)), training=True) - torch.as_tensor(np.asarray(y))) ** 2)
        loss.backward()
        with torch.no_grad():
            optimizer.apply([each.value.grad for each in model.trainable_weights], model.trainable_weights)

    return step


STEPS_OF = {"tensorflow": tape_step, "jax": jax_step, "torch": torch_step}


def the_same_with_and_without(data):
    made = []

    def watched():
        made.append(feedwatch.keras.watch(data(), tempfile.mkdtemp(), console=False))
        return made[0]

    bare = trained(data)
    ours = trained(watched)
    batches = made[0]
    batches.close()
    report, facts = batches.report, batches._run.session.facts
    return {
        "same": bare == ours,
        "status": report.status.value,
        "batches": report.steps.batches,
        "samples": report.steps.samples,
        "framework": report.run.framework,
        "kind": facts.pipeline.kind,
        "batch": None if facts.batch is None else asdict(facts.batch),
        "stages": [asdict(stage) for stage in facts.pipeline.stages],
        "loader": None if facts.pipeline.loader is None else asdict(facts.pipeline.loader),
        "batch_size": facts.run.batch_size,
        "notes": list(report.self_cost.notes),
    }


def tf_data_trains_the_same():
    return the_same_with_and_without(tf_data)


def a_data_loader_trains_the_same():
    import torch  # noqa: F401 -- before the first seed is set

    return the_same_with_and_without(torch_loader)


def numpy_batches_are_looked_through():
    return the_same_with_and_without(lambda: Again(tf_data))


class Again:
    """JAX loops iterate `as_numpy_iterator()`, a new one for each epoch."""

    def __init__(self, make):
        self.make = make

    def __iter__(self):
        return self.make().as_numpy_iterator()


def a_call_per_epoch_goes_on_in_the_same_run():
    place, data = tempfile.mkdtemp(), tf_data()
    runs = []
    for _ in range(3):
        batches = feedwatch.keras.watch(data.as_numpy_iterator(), place, console=False)
        for _ in batches:
            pass
        runs.append(batches._run)
    report = batches.close()
    pipeline = batches._run.session.facts.pipeline
    again = feedwatch.keras.watch(data, place, console=False)
    next(iter(again))
    return {
        "one_run": len({id(run) for run in runs}) == 1,
        "batches": report.steps.batches,
        "gaps": report.epoch_boundary.count,
        "stages": [stage.name for stage in pipeline.stages],
        "new_after_close": again._run is not runs[0],
        "ended": again.close().steps.batches,
    }


def sleep(ms):
    """Milliseconds that it really took: a busy machine sleeps longer than it is asked to."""
    began = time.perf_counter()
    time.sleep(ms / 1e3)
    return 1e3 * (time.perf_counter() - began)


def slept(count, took_ms):
    for number in range(count):
        took_ms.append(sleep(WAIT_MS))
        yield np.full((4, 2), number)


def the_wait_is_as_long_as_it_was():
    waited_ms, computed_ms = [], []
    with feedwatch.keras.watch(slept(STEPS, waited_ms), tempfile.mkdtemp(), console=False) as batches:
        for _ in batches:
            computed_ms += [sleep(COMPUTE_MS)]
        last, line = batches.last, batches.summary()
    phases = batches.report.phases
    return {
        "wait_ms": phases["input_wait"].ms,
        "compute_ms": phases["compute"].ms,
        "waited_ms": statistics.median(waited_ms),
        "computed_ms": statistics.median(computed_ms),
        "last": list(last),
        "line": line,
        "samples": batches.report.steps.samples,
        "opaque": batches._run.session.facts.pipeline.opaque,
    }


def ended_by(error):
    with feedwatch.keras.watch(tf_data(), tempfile.mkdtemp(), console=False) as batches:
        try:
            with batches:
                for number, _ in enumerate(batches):
                    if number == 3:
                        raise error
        except BaseException as caught:
            return {
                "same": caught is error,
                "status": batches.report.status.value,
                "batches": batches.report.steps.batches,
            }


def an_error_and_ctrl_c_are_the_same_objects():
    return {"error": ended_by(ValueError("theirs")), "ctrl_c": ended_by(KeyboardInterrupt())}


def raising():
    yield np.zeros((4, 2))
    raise KeyError("theirs")


def a_loader_that_raises_a_break_and_no_data():
    told = {}
    broken = feedwatch.keras.watch(raising(), tempfile.mkdtemp(), console=False)
    try:
        with broken:
            list(broken)
    except KeyError as error:
        told["raised"] = error.args[0]
    told["raised_status"] = broken.report.status.value
    with feedwatch.keras.watch(tf_data(), tempfile.mkdtemp(), console=False) as left:
        for _ in range(2):
            for number, _ in enumerate(left):
                if number == 4:
                    break
    told["left"] = left.report.steps.batches
    with feedwatch.keras.watch([], tempfile.mkdtemp(), console=False) as empty:
        told["empty"] = list(empty)
    told["empty_bound"] = empty.report.verdict.bound.value
    return told


def two_watches_on_one_pipeline_do_not_meet():
    data = tf_data()
    with (
        feedwatch.keras.watch(data, tempfile.mkdtemp(), console=False) as inner,
        feedwatch.keras.watch(inner, tempfile.mkdtemp(), console=False) as outer,
    ):
        seen = sum(1 for _ in outer)
    return {
        "seen": seen,
        "inner": inner.report.steps.batches,
        "outer": outer.report.steps.batches,
        "stages": [stage.name for stage in outer._run.session.facts.pipeline.stages],
        "length": len(inner),
        "attribute": str(inner.element_spec) == str(data.element_spec),
    }


def refused(make, errors=SettingError):
    try:
        make()
    except errors as error:
        return str(error)
    return None


def wrong_use_is_one_clear_error():
    place = tempfile.mkdtemp()
    with open(os.path.join(place, "file"), "w"):
        pass
    with feedwatch.keras.watch(tf_data(), tempfile.mkdtemp(), console=False) as closed:
        list(closed)
    told = {
        "no_iterable": refused(lambda: feedwatch.keras.watch(3, place)),
        "closed": refused(lambda: list(closed)),
        "no_directory": refused(lambda: feedwatch.keras.watch(tf_data(), os.path.join(place, "file", "below"))),
    }
    if BACKEND == "tensorflow":
        import tensorflow as tf

        @tf.function
        def epoch():
            for _ in feedwatch.keras.watch(tf_data(), place):
                pass

        told["in_a_graph"] = refused(epoch, Exception)  # AutoGraph tells it in an error of its own
    return told


def main():
    rows = [
        tf_data_trains_the_same,
        a_data_loader_trains_the_same,
        a_call_per_epoch_goes_on_in_the_same_run,
        the_wait_is_as_long_as_it_was,
        an_error_and_ctrl_c_are_the_same_objects,
        a_loader_that_raises_a_break_and_no_data,
        two_watches_on_one_pipeline_do_not_meet,
        wrong_use_is_one_clear_error,
    ]
    if BACKEND == "tensorflow":
        rows.remove(a_data_loader_trains_the_same)  # its tensors are torch's
    if BACKEND == "jax":
        rows.append(numpy_batches_are_looked_through)
    for row in rows:
        print("RESULT " + json.dumps({"name": row.__name__, **row()}), flush=True)


if __name__ == "__main__":
    main()
