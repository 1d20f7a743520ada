"""Real tf.data pipelines, walked without a fit."""

import numpy as np
import pytest
import tensorflow as tf

from feedwatch.hooks.tf_data.walk import batch_size, epoch_bytes, file_count, from_memory, walk

X = np.ones((64, 8), "float32")


def noisy(value):
    return value + tf.random.normal([8])


def halved(value):
    return value / 2


def in_python(value):
    return tf.ensure_shape(tf.numpy_function(lambda x: x, [value], tf.float32), [8])


def slices():
    return tf.data.Dataset.from_tensor_slices(X)


def test_stages_come_in_the_order_data_flows_with_what_the_user_wrote():
    found = walk(slices().shuffle(32).map(noisy, num_parallel_calls=2).batch(8).prefetch(3))
    assert [stage.op for stage in found.stages] == ["FromTensorSlices", "Shuffle", "ParallelMap", "Batch", "Prefetch"]
    shuffle, noise, batch, prefetch = found.stages[1:]
    assert shuffle.buffer_size == 32
    assert (noise.function, noise.parallelism, noise.random) == ("noisy", 2, True)
    assert noise.source.startswith("test_walk.py:")
    assert batch.batch_size == 8
    assert prefetch.buffer_size == 3


def test_a_serial_map_has_no_parallelism_and_python_inside_is_seen():
    stage = walk(slices().map(in_python)).stages[-1]
    assert (stage.op, stage.parallelism, stage.python, stage.random) == ("Map", None, True, False)


def test_a_generator_is_one_stage_of_python():
    data = tf.data.Dataset.from_generator(lambda: iter(X), output_signature=tf.TensorSpec([8], tf.float32))
    assert [(stage.op, stage.python) for stage in walk(data).stages] == [("FromGenerator", True)]


def test_of_several_inputs_the_first_is_followed():
    found = walk(tf.data.Dataset.zip((slices().map(halved), tf.data.Dataset.range(64))))
    assert [stage.op for stage in found.stages] == ["FromTensorSlices", "Map", "Zip"]


def test_an_object_without_inputs_is_no_pipeline():
    assert walk(object()) is None


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (slices().batch(8), 8),
        (slices().batch(8, drop_remainder=True), 8),
        (slices().batch(8).map(lambda x: (x, x)).prefetch(2), 8),
        (tf.data.Dataset.range(64).batch(8).unbatch(), None),
        (slices().batch(8).filter(lambda x: True), None),
    ],
    ids=["batch", "static", "map and prefetch behind", "unbatched", "filtered"],
)
def test_samples_in_a_full_batch(data, size):
    assert batch_size(data) == size


def test_what_a_cache_would_hold_ends_at_the_first_random_map():
    cached = slices().map(halved).map(noisy).batch(8)
    assert epoch_bytes(walk(cached)) == 64 * 8 * 4
    assert epoch_bytes(walk(slices().map(noisy).batch(8))) is None


def test_values_in_memory_are_told_from_names_of_files():
    names = tf.data.Dataset.from_tensor_slices(["a", "b", "c"])
    read = names.map(tf.io.read_file)
    assert from_memory(walk(slices().batch(8))) is True
    assert from_memory(walk(read)) is False
    assert from_memory(walk(tf.data.Dataset.range(3))) is False
    assert file_count(walk(read)) == 3
    assert file_count(walk(tf.data.TFRecordDataset(["a", "b"]))) == 2
    assert file_count(walk(slices())) is None
