"""Fits whose report must show what lies between epochs, and what a DataLoader's workers do; prints one JSON line each."""

import json
import os
import sys
import tempfile
import time
import warnings
from dataclasses import asdict

BACKEND = sys.argv[1]
os.environ["KERAS_BACKEND"] = BACKEND

import keras  # noqa: E402
import numpy as np  # noqa: E402

from feedwatch.keras import FeedWatch  # noqa: E402
from tests.contract.keras.loops_scripted import GAP_MS, ITEM_MS  # noqa: E402

X = np.random.default_rng(0).random((192, 8)).astype("float32")


class SlowEpochEnd(keras.callbacks.Callback):
    async_safe = True

    def on_epoch_end(self, epoch, logs=None):
        time.sleep(GAP_MS / 1e3)


def fit(data, callbacks=(), epochs=3):
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    ours = FeedWatch(tempfile.mkdtemp(), console=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data, epochs=epochs, verbose=0, callbacks=[ours, *callbacks])
    return ours


def batches():
    for start in range(0, 192, 16):
        yield X[start : start + 16], X[start : start + 16, :1]


def gaps_with_data_of_unknown_length():
    import tensorflow as tf

    signature = (tf.TensorSpec([None, 8], tf.float32), tf.TensorSpec([None, 1], tf.float32))
    data = tf.data.Dataset.from_generator(batches, output_signature=signature)
    assert int(data.cardinality()) == tf.data.UNKNOWN_CARDINALITY
    report = fit(data, [SlowEpochEnd()]).report
    return {"batches": report.steps.batches, "dropped": report.steps.dropped, **asdict(report.epoch_boundary)}


def gaps_with_data_of_known_length():
    import tensorflow as tf

    report = fit(tf.data.Dataset.from_tensor_slices((X, X[:, :1])).batch(16), [SlowEpochEnd()]).report
    return {"batches": report.steps.batches, "dropped": report.steps.dropped, **asdict(report.epoch_boundary)}


def loader(workers, **settings):
    import torch

    class Slow(torch.utils.data.Dataset):
        def __len__(self):
            return 192

        def __getitem__(self, index):
            time.sleep(ITEM_MS / 1e3)
            return X[index], X[index, :1]

    made = torch.utils.data.DataLoader(Slow(), batch_size=16, num_workers=workers, **settings)
    collate = made.collate_fn
    ours = fit(made, epochs=2)
    facts, report = ours._last.run.session.facts, ours.report
    return {
        "batches": report.steps.batches,
        "loader": asdict(facts.pipeline.loader),
        "stages": [stage.name for stage in facts.pipeline.stages],
        "batch": None if facts.batch is None else asdict(facts.batch),
        "given_back": made.collate_fn is collate,
        "codes": [finding.code for finding in report.findings],
        "notes": list(report.self_cost.notes),
    }


def a_loader_with_two_workers():
    return loader(2)


def a_loader_without_workers():
    return loader(0)


def a_loader_that_keeps_its_workers():
    return loader(1, persistent_workers=True)


def main():
    rows = [gaps_with_data_of_unknown_length, gaps_with_data_of_known_length]
    if BACKEND != "tensorflow":
        rows += [a_loader_with_two_workers, a_loader_without_workers]
    if BACKEND == "torch":
        rows += [a_loader_that_keeps_its_workers]
    for row in rows:
        print("RESULT " + json.dumps({"name": row.__name__, **row()}), flush=True)


if __name__ == "__main__":
    main()
