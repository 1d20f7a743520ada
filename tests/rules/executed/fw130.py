"""FW130: a PyDataset that waits 60 ms per batch, alone, or in several threads."""

import time

import keras
import numpy as np

from tests.rules.executed.keras_parts import WIDTH, train


class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        time.sleep(0.060)
        return np.zeros((8, WIDTH), "float32"), np.zeros(8, "float32")


def bad():
    return train(Batches(), compute_ms=25)


def good(finding):
    batches = Batches()
    batches.workers = int(finding.evidence["workers_advised"])
    batches.use_multiprocessing = "data.use_multiprocessing = True" in finding.fix.after
    batches.max_queue_size = 10
    return train(batches, compute_ms=25)
