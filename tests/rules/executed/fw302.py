"""FW302: a small model step by step from Python, or compiled."""

import keras
import numpy as np

from tests.rules.executed.keras_parts import WIDTH, train


def run(run_eagerly):
    layers = [keras.layers.Dense(32, activation="relu") for _ in range(4)]
    inputs, targets = np.zeros((8 * 120, WIDTH), "float32"), np.zeros(8 * 120, "float32")
    return train(inputs, compute_ms=0, layers=layers, run_eagerly=run_eagerly, y=targets, batch_size=8)


def bad():
    return run(run_eagerly=True)


def good(_finding):
    return run(run_eagerly=False)
