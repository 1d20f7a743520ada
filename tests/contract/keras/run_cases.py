"""Runs every case of a group twice, without and with FeedWatch, in a process of its own; prints one JSON line each."""

import contextlib
import json
import os
import pickle
import random
import sys
import tempfile
import threading
import time
import traceback

GROUP = sys.argv[1]
os.environ["KERAS_BACKEND"] = GROUP if GROUP in ("torch", "jax") else "tensorflow"

import keras  # noqa: E402
import numpy as np  # noqa: E402

from feedwatch.keras import FeedWatch  # noqa: E402
from tests.contract.keras import cases  # noqa: E402


def prepare():
    if GROUP == "two_devices":
        import tensorflow as tf

        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    if GROUP == "determinism":
        import tensorflow as tf

        keras.utils.set_random_seed(1)
        tf.config.experimental.enable_op_determinism()


def one_run(make, watching):
    keras.utils.set_random_seed(11)
    model, arguments = make()
    fits, after = arguments.pop("fits", 1), arguments.pop("after", lambda: None)
    then, scope = arguments.pop("then", lambda _: None), arguments.pop("scope", contextlib.nullcontext)
    # On TensorFlow the vain attempt at the end of unknown-length data already counts an iteration, without us too.
    vain = arguments.pop("vain", 0) if keras.backend.backend() == "tensorflow" else arguments.pop("vain", 0) * 0
    extra = arguments.pop("extra_steps", 0) + vain
    others = arguments.pop("callbacks", [])
    ours = FeedWatch(tempfile.mkdtemp(), console=False) if watching else None
    given = [*others, *([ours] if ours else [])]
    verbose = arguments.pop("verbose", 0)
    with scope():
        histories = [model.fit(**arguments, callbacks=list(given), verbose=verbose).history for _ in range(fits)]
    after()
    draws = [random.random(), float(np.random.rand()), float(keras.random.uniform(()))]  # noqa: NPY002
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        draws.append(float(tf.random.uniform(())))
    then(model)
    return {
        "model": model,
        "ours": ours,
        "weights": [np.asarray(weight).tobytes() for weight in model.get_weights()],
        "history": [{k: v for k, v in h.items() if k != "lr"} for h in histories],
        "iterations": int(keras.ops.convert_to_numpy(model.optimizer.iterations)),
        "draws": draws,
        "extra": extra,
        "left": sorted(vars(model)),
        "callbacks": [sorted(vars(callback)) for callback in others],
        "data": sorted(getattr(arguments["x"], "__dict__", {})),
        "fits": fits,
    }


def still_works(model):
    home = tempfile.mkdtemp()
    if not type(model).__module__.startswith("tests."):  # the models of our own have no config to save
        model.save(os.path.join(home, "model.keras"))
    if getattr(model, "distribute_strategy", None) is not None and GROUP == "two_devices":
        return
    if type(model).__module__.startswith("keras."):
        pickle.loads(pickle.dumps(model))


def judge(name, make):
    began = time.perf_counter()
    plain, watched = one_run(make, False), one_run(make, True)
    still_works(watched["model"])
    report = watched["ours"].report
    same = {
        key: plain[key] == watched[key]
        for key in ("weights", "history", "iterations", "draws", "left", "callbacks", "data")
    }
    return {
        "name": name,
        "same": same,
        "status": report.status.value,
        "batches": report.steps.batches,
        "expected_batches": watched["iterations"] // watched["fits"] - watched["extra"],
        "last_step": report.series.step[-1] if report.series.step else None,
        "iterations": watched["iterations"] - watched["extra"],
        "wait_measured": report.phases["input_wait"] is not None,
        "measured": report.steps.measured,
        "dropped": report.steps.dropped,
        "kind": report.pipeline.kind,
        "stages": [stage.name for stage in report.pipeline.stages],
        "notes": list(report.self_cost.notes),
        "train_function": not getattr(watched["model"].train_function, "__module__", "").startswith("feedwatch"),
        "threads": [thread.name for thread in threading.enumerate() if "feedwatch" in thread.name],
        "seconds": round(time.perf_counter() - began, 2),
    }


def judged(name, make):
    try:
        return judge(name, make)
    except Exception:
        return {"name": name, "error": traceback.format_exc()}


def main():
    prepare()
    for name, make in cases.GROUPS[GROUP].items():
        print("RESULT " + json.dumps(judged(name, make)), flush=True)


if __name__ == "__main__":
    main()
