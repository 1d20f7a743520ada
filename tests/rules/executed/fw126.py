"""FW126: the same products in every epoch, or kept after the first."""

import tensorflow as tf

from tests.rules.executed.keras_parts import row, train

EPOCHS = 4


def heavy(element):
    matrix = tf.fill([400, 400], tf.cast(element, tf.float32) * 1e-6)
    product = tf.linalg.matmul(tf.linalg.matmul(matrix, matrix), matrix)
    return element + tf.cast(product[0, 0] * 0, element.dtype)


def work():
    return tf.data.Dataset.range(160).map(heavy).map(row)


def bad():
    return train(work().batch(8, drop_remainder=True).prefetch(tf.data.AUTOTUNE), compute_ms=8, epochs=EPOCHS)


def good(_finding):
    data = work().cache().batch(8, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    return train(data, compute_ms=8, epochs=EPOCHS)
