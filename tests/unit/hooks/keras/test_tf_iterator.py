"""A batch is counted by its shape inside a graph, whatever it is made of."""

import pytest
import tensorflow as tf

from feedwatch.hooks.keras.tf_iterator import _samples


class Pair(tf.experimental.ExtensionType):
    left: tf.Tensor
    right: tf.Tensor


@pytest.mark.parametrize(
    ("batch", "samples"),
    [
        ((tf.zeros([7, 3]), tf.zeros([7])), 7),
        ({"image": tf.zeros([5, 2, 2]), "weight": None}, 5),
        ((None, tf.zeros([4, 1])), 4),
        (tf.ragged.constant([[1.0], [2.0, 3.0], []]), 3),
        (tf.sparse.from_dense(tf.eye(6)), 6),
        (tf.constant(1.0), 0),
        (Pair(tf.zeros([2]), tf.zeros([2])), 0),
        ((), 0),
    ],
    ids=["tensors", "dict", "first part missing", "ragged", "sparse", "scalar", "a type of the user's", "nothing"],
)
def test_the_first_dimension_of_the_first_part(batch, samples):
    assert float(tf.function(lambda: _samples(batch))()) == samples
