"""FW121: 40 ms of input and 40 ms of computing take turns, or run side by side.

tf.data injects a prefetch by itself where it may; here it may not, as in pipelines that switch its optimiser off.
"""

import tensorflow as tf

from tests.rules.executed.keras_parts import rows, slow, train


def data():
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    wait = slow(40)
    batches = tf.data.Dataset.range(288).batch(8, drop_remainder=True).map(rows)
    batches = batches.map(lambda inputs, targets: (wait(inputs), targets))
    return batches.with_options(options)


def bad():
    return train(data(), compute_ms=40)


def good(_finding):
    return train(data().prefetch(tf.data.AUTOTUNE), compute_ms=40)
