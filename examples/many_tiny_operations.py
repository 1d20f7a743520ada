"""My GPU is at 20 % although the data are there: what is it doing?

Waiting for the next operation: each one costs a launch, however small it is. The worst case is a step that Python
starts operation by operation (run_eagerly=True, FW302), which a CPU shows as well. On a GPU the compiled step can
still be bound by launches: FW301 (larger batches, steps_per_execution, jit_compile), which a CPU cannot show.
"""

import os

import keras
import numpy as np
from rich.console import Console

from feedwatch.keras import FeedWatch
from feedwatch.report.console import print_report

STEPS = int(os.environ.get("FEEDWATCH_EXAMPLE_STEPS", "60"))
FEATURES = np.random.default_rng(0).random((64 * STEPS, 64), np.float32)
LABELS = np.zeros(64 * STEPS, np.int32)


def train(*, run_eagerly):
    tiny = [keras.layers.Dense(32, activation="relu") for _ in range(10)]
    model = keras.Sequential([*tiny, keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss, run_eagerly=run_eagerly, jit_compile=False)
    watch = FeedWatch("runs/examples", console=False)
    model.fit(FEATURES, LABELS, batch_size=64, epochs=1, verbose=0, callbacks=[watch])
    print_report(watch.report, Console())
    return watch.report


if __name__ == "__main__":
    before, after = train(run_eagerly=True), train(run_eagerly=False)
    print(f"before {before.verdict.samples_per_s:.0f} samples/s, after {after.verdict.samples_per_s:.0f} samples/s")
    if after.run.device == "cpu":
        print("not shown on a CPU: FW301, a compiled step whose kernels are too short (`feedwatch explain FW301`)")
