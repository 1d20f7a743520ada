"""FW122: one call at a time, fixed, or as many as there are CPUs."""

import tensorflow as tf

from tests.rules.executed.keras_parts import row, slow, train


def data(calls):
    read = tf.data.Dataset.range(288).map(slow(8), num_parallel_calls=calls)
    return read.map(row).batch(8, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def bad():
    return train(data(1), compute_ms=24)


def good(_finding):
    return train(data(tf.data.AUTOTUNE), compute_ms=24)
