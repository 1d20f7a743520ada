"""Real tf.data pipelines, walked without a fit."""

import numpy as np
import pytest
import tensorflow as tf

from feedwatch.hooks.tf_data.walk import batch_size, endless, epoch_bytes, file_count, from_memory, service, walk

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


def test_a_pipeline_of_hundreds_of_stages_is_read_to_its_source_or_not_at_all(monkeypatch):
    data = tf.data.Dataset.from_tensor_slices(np.zeros((8, 2)))
    for _ in range(198):
        data = data.take(8)
    data = data.batch(4)
    found = walk(data)
    assert (len(found.stages), from_memory(found)) == (200, True)
    # Half of a pipeline would have a source that is none.
    monkeypatch.setattr("feedwatch.hooks.tf_data.walk.MAX_STAGES", 199)
    assert walk(data) is None


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


def test_every_stage_says_how_large_an_element_is_and_from_where_on_it_is_a_batch():
    data = slices().map(halved).batch(16).prefetch(1).unbatch()
    sizes = [(stage.op, stage.element_bytes, stage.batched) for stage in walk(data).stages]
    assert [*sizes[:4], sizes[-1]] == [  # in between TensorFlow has stages of its own
        ("FromTensorSlices", 32, False),
        ("Map", 32, False),
        ("Batch", 512, True),
        ("Prefetch", 512, True),
        ("Unbatch", 32, False),
    ]


def test_an_element_of_unknown_shape_has_no_size():
    data = slices().map(lambda value: tf.numpy_function(halved, [value], tf.float32)).batch(4)
    assert [stage.element_bytes for stage in walk(data).stages] == [32, None, None]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (tf.data.Dataset.counter().map(halved).batch(4), True),
        (tf.data.Dataset.counter().take(9).repeat(), False),
        (tf.data.Dataset.range(4).repeat().batch(4), False),
        (tf.data.Dataset.range(4).filter(lambda value: value > 1).repeat(), None),
    ],
)
def test_data_that_never_ends_is_told_from_data_that_is_repeated(data, expected):
    assert endless(walk(data)) is expected


def counting():
    yield 1


def test_the_lines_of_the_users_calls_are_named():
    first = tf.data.Dataset.from_generator(counting, output_signature=tf.TensorSpec((), tf.float32))
    found = walk(
        first.map(only_here)  #
        .padded_batch(7, padded_shapes=())
        .prefetch(11)
    )
    line = first_line(only_here_is_used=True)
    sites = [stage.call_site for stage in found.stages]
    assert sites == [f"test_walk.py:{line + at}" for at in (0, 2, 3, 4)]
    assert found.stages[0].random is False


def only_here(value):
    return value


def first_line(*, only_here_is_used):
    code = test_the_lines_of_the_users_calls_are_named.__code__
    return code.co_firstlineno + only_here_is_used


def test_the_source_of_a_service_tells_how_it_shards():
    dispatcher = tf.data.experimental.service.DispatchServer()
    address = dispatcher.target.partition("://")[2]
    worker = tf.data.experimental.service.WorkerServer(
        tf.data.experimental.service.WorkerConfig(dispatcher_address=address)
    )
    policy = tf.data.experimental.service.ShardingPolicy.DYNAMIC
    data = tf.data.Dataset.range(8).apply(tf.data.experimental.service.distribute(policy, dispatcher.target)).batch(2)
    assert service(walk(data)) == "dynamic"
    assert sorted(np.concatenate([batch.numpy() for batch in data])) == list(range(8))
    del worker


def test_a_pipeline_of_ones_own_is_no_service():
    assert service(walk(tf.data.Dataset.range(4).batch(2))) is None
