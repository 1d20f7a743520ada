"""What kind of run it is, and what a batch looks like: shapes and dtypes only."""

import numpy as np
import pytest

keras = pytest.importorskip("keras")
import tensorflow as tf  # noqa: E402

from feedwatch.hooks.keras.facts import (  # noqa: E402
    batch_facts,
    first_step,
    jax_memory,
    leading_size,
    memory_of_device,
    run_facts,
)
from feedwatch.probe.device_memory import DeviceMemory  # noqa: E402


def model(**compiled):
    made = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    made.compile("sgd", "mse", **compiled)
    return made


class Late(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        return


def test_a_run_is_described_from_the_model_and_the_backend():
    facts = run_facts(model(run_eagerly=True), 4, [])
    assert (facts.framework, facts.backend, facts.version) == ("keras", "tensorflow", keras.__version__)
    assert facts.run_eagerly is True
    assert facts.steps_per_execution == 4
    assert facts.precision == "float32"
    assert (facts.rank, facts.world_size) == (0, 1)
    assert facts.other_profiler is None


def test_a_tensorboard_callback_that_will_trace_is_named(tmp_path):
    other = keras.callbacks.TensorBoard(str(tmp_path), profile_batch=(2, 4))
    assert run_facts(model(), 1, [other]).other_profiler.startswith("TensorBoard(")


def test_a_callback_that_makes_every_step_wait_is_named_where_dispatch_is_asynchronous(monkeypatch):
    assert run_facts(model(), 1, [Late()]).synchronises is None
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    assert run_facts(model(), 1, [keras.callbacks.EarlyStopping(), Late()]).synchronises == "Late"


def test_the_step_axis_is_the_optimizers_and_counts_batches():
    made = model()
    made.optimizer.iterations.assign(8)
    assert first_step(made, 3) == 8
    made.optimizer.gradient_accumulation_steps = 2  # from now on its count is of updates, and there were four
    assert int(made.optimizer.iterations) == 4
    assert first_step(made, 3) == 8
    assert first_step(object(), 3) == 3


@pytest.mark.parametrize(
    ("batch", "samples"),
    [
        ((np.zeros((7, 2)), np.zeros(7)), 7),
        ({"image": np.zeros((5, 2, 2)), "weight": None}, 5),
        ((None, [np.zeros((4, 1))]), 4),
        (tf.TensorSpec([None, 3]), None),
        ("text", None),
        ((), None),
    ],
)
def test_samples_are_the_first_dimension_of_the_first_array(batch, samples):
    assert leading_size(batch) == samples


def test_bytes_and_dtypes_are_read_from_arrays_and_specs_alike():
    arrays = (np.zeros((8, 3), "float32"), {"label": np.zeros(8, "int64")})
    found = batch_facts(arrays)
    assert (found.size_bytes, found.tensors, found.dtypes) == (160, 2, {"float32": 96, "int64": 64})
    specs = (tf.TensorSpec([None, 3], tf.float32), {"label": tf.TensorSpec([None], tf.int64)})
    assert batch_facts(specs, 8) == found
    assert batch_facts(specs) is None
    assert batch_facts(tf.TensorSpec(None, tf.float32), 8) is None
    assert batch_facts(()) is None


def test_what_keras_adds_itself_makes_no_step_wait(monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    added = [keras.callbacks.History(), keras.callbacks.ProgbarLogger()]
    assert run_facts(model(), 1, added).synchronises is None
    assert run_facts(model(), 1, [Late()], asynchronous=True).synchronises is None


def test_a_device_scope_around_fit_is_followed():
    with keras.device("cpu:0"):
        assert run_facts(model(), 1, []).device_kind == "cpu"


def test_what_jax_took_at_the_start_is_its_limit_and_not_its_use():
    """`memory_stats()` of a GPU, as JAX documents it; a CPU has none."""
    stats = {"bytes_in_use": 10, "peak_bytes_in_use": 12, "bytes_limit": 75, "num_allocs": 3}
    assert jax_memory(stats) == DeviceMemory(used_bytes=10, held_bytes=75, limit_bytes=75, free_bytes=0)
    assert jax_memory(None) is None
    assert jax_memory({"num_allocs": 3}) is None


def test_on_a_cpu_no_allocator_counts():
    assert memory_of_device() is None
