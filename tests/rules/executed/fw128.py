"""FW128: every epoch fills a buffer with elements that take 4 ms each, or shuffles with a smaller one."""

import tensorflow as tf

from tests.rules.executed.keras_parts import row, slow, train

RUN_GAIN = True
EPOCHS = 4


def data(buffer):
    read = tf.data.Dataset.range(240).map(slow(4), num_parallel_calls=2)
    return read.map(row).shuffle(buffer).batch(8, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def bad():
    return train(data(200), compute_ms=25, epochs=EPOCHS)


def good(finding):
    return train(data(int(finding.evidence["buffer_size_advised"])), compute_ms=25, epochs=EPOCHS)
