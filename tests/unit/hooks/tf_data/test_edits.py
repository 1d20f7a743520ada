"""Real graphs, edited and iterated."""

import time

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from feedwatch.hooks.tf_data import edits  # noqa: E402
from feedwatch.hooks.tf_data.edits import Graph, autotuned, cached_behind, edited, interleaved, parallel_maps  # noqa: E402
from feedwatch.trial.variant import Refused  # noqa: E402


def numbers(**named):
    return tf.data.Dataset.range(40).map(lambda x: x * 2, **named).batch(4)


def ops(dataset):
    return [node.op for node in Graph.of(dataset).chain()]


def values(dataset):
    return [value for batch in dataset.as_numpy_iterator() for value in batch.tolist()]


def test_a_serial_map_becomes_parallel_and_gives_the_same():
    before = numbers()
    after = edited(before, [parallel_maps])
    assert ops(before)[1] == "MapDataset"
    assert ops(after)[1] == "ParallelMapDatasetV2"
    assert values(after) == values(before)
    assert after.element_spec == before.element_spec


def test_python_in_the_pipeline_still_runs():
    def double(value):
        time.sleep(0.001)
        return np.int64(value * 2)

    plain = tf.data.Dataset.range(8).map(lambda x: tf.numpy_function(double, [x], tf.int64)).batch(4)
    assert values(edited(plain, [parallel_maps])) == list(range(0, 16, 2))


def test_a_number_written_by_hand_becomes_autotune():
    after = edited(numbers(num_parallel_calls=2), [autotuned])
    graph = Graph.of(after)
    (stage,) = [node for node in graph.chain() if node.op == "ParallelMapDatasetV2"]
    assert graph.constant_of(stage.input[-1]) == -1
    assert values(after) == values(numbers())
    with pytest.raises(Refused, match="written by hand"):
        edited(numbers(num_parallel_calls=tf.data.AUTOTUNE), [autotuned])


def test_files_that_are_read_one_after_the_other_are_interleaved():
    nested = tf.data.Dataset.range(4).flat_map(lambda x: tf.data.Dataset.range(x * 10, x * 10 + 3)).batch(4)
    after = edited(nested, [interleaved])
    assert "ParallelInterleaveDatasetV4" in ops(after)
    assert sorted(values(after)) == values(nested)
    with pytest.raises(Refused, match="one after the other"):
        edited(numbers(), [interleaved])


def test_a_cache_gives_its_elements_again_and_again():
    calls = []

    def seen(value):
        calls.append(value)
        return value

    plain = tf.data.Dataset.range(100).map(lambda x: tf.numpy_function(seen, [x], tf.int64)).batch(4)
    iterator = iter(edited(plain, [cached_behind(1, 8)]))
    for _ in range(10):
        next(iterator)
    assert len(calls) == 8
    with pytest.raises(Refused, match="not in the graph"):
        edited(plain, [cached_behind(99, 8)])


def test_a_shuffle_before_the_cache_stands_behind_it_too():
    plain = tf.data.Dataset.range(100).shuffle(50).map(lambda x: x * 2).batch(4)
    after = edited(plain, [cached_behind(1, 8)])
    assert ops(after)[1:3] == ["ShuffleDataset", "RepeatDataset"]
    found = [batch.tolist() for batch in after.take(60).as_numpy_iterator()]
    assert len({value for batch in found for value in batch}) == 8
    assert len({tuple(batch) for batch in found}) > 2  # another order each time
    assert "ShuffleDataset" not in ops(edited(numbers(), [cached_behind(1, 8)]))


def test_no_edit_is_the_same_data_set():
    plain = numbers()
    assert edited(plain, []) is plain


def test_large_tensors_in_memory_are_not_copied(monkeypatch):
    monkeypatch.setattr(edits, "MOST_IN_MEMORY", 1000)
    large = tf.data.Dataset.from_tensor_slices(np.zeros((100, 10), "float32")).map(lambda x: x)
    assert edits.held_bytes(large) == 4000
    with pytest.raises(Refused, match="holds 4 KB in memory"):
        edited(large, [parallel_maps])
