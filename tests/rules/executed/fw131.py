"""FW131: a generator that waits 60 ms per batch, or a PyDataset with workers that does."""

import time

import numpy as np

from tests.rules.executed.fw130 import Batches
from tests.rules.executed.keras_parts import WIDTH, train


def generator():
    while True:
        time.sleep(0.060)
        yield np.zeros((8, WIDTH), "float32"), np.zeros(8, "float32")


def bad():
    return train(generator(), compute_ms=25, steps_per_epoch=40)


def good(finding):
    batches = Batches()
    batches.workers = max(2, int(finding.evidence["workers_advised"]))
    return train(batches, compute_ms=25)
