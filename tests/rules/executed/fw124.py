"""FW124: a loop in Python behind numpy_function, or the same sum as TensorFlow operations."""

import numpy as np
import tensorflow as tf

from tests.rules.executed.keras_parts import row, train

TERMS = 120_000


def python_sum(start):
    total = 0.0
    for term in range(TERMS):
        total += float(start) * 0 + term
    return np.float32(total)


def with_python(element):
    total = tf.numpy_function(python_sum, [tf.cast(element, tf.float32)], tf.float32)
    return element + tf.cast(tf.reshape(total, []) * 0, element.dtype)


def with_tensorflow(element):
    total = tf.reduce_sum(tf.cast(element, tf.float32) * 0 + tf.range(float(TERMS)))
    return element + tf.cast(total * 0, element.dtype)


def run(function):
    read = tf.data.Dataset.range(240).map(function, num_parallel_calls=tf.data.AUTOTUNE)
    data = read.map(row).batch(8, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    # Long against the turns that threads take at the interpreter's lock, which slow the loop down too.
    return train(data, compute_ms=40)


def bad():
    return run(with_python)


def good(_finding):
    return run(with_tensorflow)
