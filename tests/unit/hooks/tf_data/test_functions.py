"""What a user's function does, from its graph."""

import tensorflow as tf

from feedwatch.hooks.tf_data.functions import function_facts


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
