"""What a user's function does, from its graph."""

import numpy as np
import pytest
import tensorflow as tf

from feedwatch.hooks.tf_data.functions import function_facts, generator_changes, user_function


def facts_of(function, data=None):
    data = tf.data.Dataset.range(3) if data is None else data
    return function_facts(data.map(function)._map_func)


def test_the_users_function_is_named_with_its_file_and_line():
    def decode(value):
        return value + 1

    found = facts_of(decode)
    assert found.name == "decode"
    assert found.source == f"test_functions.py:{decode.__code__.co_firstlineno}"
    assert (found.python, found.random, found.reads_file, found.framework) == (False, False, False, False)


def test_python_random_numbers_and_files_inside_are_seen():
    assert facts_of(lambda i: tf.numpy_function(abs, [i], tf.int64)).python is True
    assert facts_of(lambda i: i + tf.random.uniform([], maxval=9, dtype=tf.int64)).random is True
    assert facts_of(lambda i: tf.io.read_file(tf.strings.as_string(i))).reads_file is True


def test_ops_in_a_function_inside_are_seen():
    inner = tf.function(lambda i: tf.numpy_function(abs, [i], tf.int64))
    assert facts_of(lambda i: inner(i) + 1).python is True


def test_what_cannot_be_seen_stays_unknown():
    assert function_facts(object()).python is None


def plain(value):
    return value


def drawing(value):
    return value + np.random.default_rng().integers(9)


@pytest.mark.parametrize("call", [tf.numpy_function, tf.py_function])
@pytest.mark.parametrize(("function", "changes"), [(plain, False), (drawing, True), (abs, None)])
def test_a_python_function_is_read_for_random_draws(call, function, changes):
    found = facts_of(lambda value: call(function, [value], tf.int64))
    assert (found.python, found.random) == (True, changes)


def test_a_python_function_inside_a_tf_function_is_read():
    inner = tf.function(lambda value: tf.numpy_function(drawing, [value], tf.int64))
    assert facts_of(lambda value: inner(value) + 1).random is True


def numbers():
    yield from range(3)


def shuffled_numbers():
    yield from np.random.default_rng().permutation(3)


def generated(function):
    return tf.data.Dataset.from_generator(function, output_signature=tf.TensorSpec((), tf.int64))._map_func


def test_the_generator_behind_from_generator_is_read():
    assert generator_changes(generated(numbers)) is False
    assert generator_changes(generated(shuffled_numbers)) is True
    assert generator_changes(object()) is None
    assert user_function(generated(numbers), "FromGenerator") is numbers
