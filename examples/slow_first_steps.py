"""Why do the first steps take so long?

The first call traces the model into a graph and compiles it; that is paid once. feedwatch keeps it apart from the
steady steps, so that it neither hides nor invents a stall, and says FW308 when it is the larger part of a short run.
"""

import os

import keras
import numpy as np
from rich.console import Console

from feedwatch.keras import FeedWatch
from feedwatch.report.console import print_report

STEPS = int(os.environ.get("FEEDWATCH_EXAMPLE_STEPS", "40"))
FEATURES = np.random.default_rng(0).random((64 * STEPS, 64), np.float32)
LABELS = np.zeros(64 * STEPS, np.int32)


def train(*, jit_compile):
    deep = [keras.layers.Dense(64, activation="relu") for _ in range(32)]
    model = keras.Sequential([*deep, keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, jit_compile=jit_compile)
    watch = FeedWatch("runs/examples", console=False)
    model.fit(FEATURES, LABELS, batch_size=64, epochs=1, verbose=0, callbacks=[watch])
    first_ms, usual_ms = watch.report.startup.first_step_ms, watch.report.verdict.step_ms
    print(f"jit_compile={jit_compile}: first step {first_ms:.0f} ms, the usual one {usual_ms:.1f} ms")
    print_report(watch.report, Console())
    return watch.report


if __name__ == "__main__":
    before, after = train(jit_compile=True), train(jit_compile=False)
    saved_s = (before.startup.first_step_ms - after.startup.first_step_ms) / 1000
    print(f"while trying things out, without compiling: {saved_s:.1f} s less before the second step")
