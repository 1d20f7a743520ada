"""Scripted input and compute times; prints what the data's own clock saw and what FeedWatch reports, in ms."""

import json
import os
import statistics
import sys
import tempfile
import time

BACKEND = sys.argv[1]
os.environ["KERAS_BACKEND"] = BACKEND

import keras  # noqa: E402
import numpy as np  # noqa: E402

from feedwatch.keras import FeedWatch  # noqa: E402

STEPS = 30
X = np.ones((4, 8), "float32")


class Source:
    """Takes `input_ms` per batch and writes down how long it really took."""

    def __init__(self, input_ms):
        self.input_ms = input_ms
        self.took_ms = []

    def batch(self, *_):
        began = time.perf_counter()
        time.sleep(self.input_ms / 1e3)
        self.took_ms.append(1e3 * (time.perf_counter() - began))
        return X

    def generator(self):
        for _ in range(STEPS):
            yield self.batch(), X[:, :1]

    def dataset(self, prefetch):
        import tensorflow as tf

        data = tf.data.Dataset.range(STEPS).map(
            lambda i: tf.ensure_shape(tf.numpy_function(self.batch, [i], tf.float32), [4, 8])
        )
        options = tf.data.Options()
        options.autotune.enabled = prefetch  # else tf.data injects a prefetch by itself, and nothing takes turns
        data = data.map(lambda x: (x, x[:, :1])).with_options(options)
        return data.prefetch(8) if prefetch else data


def model_of(compute_ms, steps_per_execution=1):
    class Works(keras.layers.Layer):
        def call(self, x):
            if not compute_ms:
                return x
            if BACKEND == "tensorflow":
                import tensorflow as tf

                def work(value):
                    time.sleep(compute_ms / 1e3)
                    return value

                done = tf.numpy_function(work, [tf.stop_gradient(x)], tf.float32)
                return x + 0 * tf.ensure_shape(done, x.shape)
            time.sleep(compute_ms / 1e3)  # torch computes where it stands
            return x

    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(8), Works(), keras.layers.Dense(1)])
    model.compile("sgd", "mse", steps_per_execution=steps_per_execution)
    return model


def measure(input_ms, compute_ms, *, prefetch=False, steps_per_execution=1):
    source = Source(input_ms)
    ours = FeedWatch(tempfile.mkdtemp(), console=False)
    data = source.dataset(prefetch) if BACKEND == "tensorflow" else source.generator()
    model_of(compute_ms, steps_per_execution).fit(data, verbose=0, callbacks=[ours])
    phases = ours.report.phases
    return {
        "input_ms": input_ms,
        "compute_ms": compute_ms,
        "prefetch": prefetch,
        "steps_per_execution": steps_per_execution,
        "truth_ms": statistics.median(source.took_ms[5:]),
        "wait_ms": phases["input_wait"].ms,
        "measured_compute_ms": phases["compute"].ms,
        "bound": ours.report.verdict.bound.value,
    }


def main():
    grid = [(2, 0), (10, 0), (10, 10), (50, 5), (20, 30)]
    if BACKEND == "jax":
        grid = [(10, 0), (50, 0)]  # on JAX Python cannot sleep inside a step
    rows = [measure(*pair) for pair in grid]
    if BACKEND == "tensorflow":
        rows.append(measure(5, 20, prefetch=True))
        rows.append(measure(40, 5, steps_per_execution=4))
    for found in rows:
        print("RESULT " + json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
