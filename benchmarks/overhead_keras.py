"""What FeedWatch costs per call of the train function, on Keras with TensorFlow.

Variants are interleaved in one process, round by round, and compared within a round: the medians of paired differences
do not care about a machine that gets slower or faster. `python benchmarks/overhead_keras.py [rounds]`
"""

import os
import statistics
import sys
import tempfile
import time

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import tensorflow as tf

from feedwatch.keras import FeedWatch


class Empty(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        pass

    def on_train_batch_end(self, batch, logs=None):
        pass


def model_of(width, layers, steps_per_execution):
    model = keras.Sequential([keras.Input((width,)), *[keras.layers.Dense(width) for _ in range(layers)]])
    model.compile("sgd", "mse", steps_per_execution=steps_per_execution)
    return model


def seconds_per_call(model, data, calls, per_call, callbacks):
    began = time.perf_counter()
    model.fit(data, steps_per_epoch=calls * per_call, verbose=0, callbacks=callbacks)
    return (time.perf_counter() - began) / calls


def compare(name, width, layers, per_call, calls, rounds):
    data = tf.data.Dataset.from_tensors((tf.ones((4, width)), tf.ones((4, width)))).repeat().prefetch(2)
    log_dir = tempfile.mkdtemp()
    ours = FeedWatch(log_dir, console=False, profile=False)
    variants = {"none": [], "empty": [Empty()], "feedwatch": [ours]}
    models = {variant: model_of(width, layers, per_call) for variant in variants}
    for variant, callbacks in variants.items():
        seconds_per_call(models[variant], data, 50, per_call, callbacks)
    taken = {variant: [] for variant in variants}
    reported = []
    for number in range(rounds):
        order = list(variants)
        for variant in order[number % 3 :] + order[: number % 3]:
            taken[variant].append(seconds_per_call(models[variant], data, calls, per_call, variants[variant]))
        reported.append(ours.report.self_cost.us_per_step)
    for variant in ("empty", "feedwatch"):
        pairs = [1e6 * (with_us - without) for with_us, without in zip(taken[variant], taken["none"], strict=True)]
        middle, low, high = statistics.median(pairs), *statistics.quantiles(pairs, n=4)[::2]
        per_batch = f", {middle / per_call:5.1f} µs per batch" if per_call > 1 else ""
        print(f"{name:34s} {variant:10s} {middle:+7.1f} µs per call (quartiles {low:+.1f} … {high:+.1f}){per_batch}")
    step_us = 1e6 * statistics.median(taken["none"])
    print(f"{'':34s} step without {step_us:.0f} µs; feedwatch says {statistics.median(reported):.1f} µs of itself")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    print(f"Keras {keras.__version__}, TensorFlow {tf.__version__}, {os.cpu_count()} CPUs, {rounds} rounds")
    compare("tiny step", 16, 2, 1, 1500, rounds)
    compare("about 5 ms per step", 512, 24, 1, 200, rounds)
    compare("tiny step, steps_per_execution=10", 16, 2, 10, 300, rounds)


if __name__ == "__main__":
    main()
