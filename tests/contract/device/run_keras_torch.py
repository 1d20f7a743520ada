"""Keras on torch on the emulated device, in a process of its own: one line of results per fit."""

import json
import os
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median

os.environ["KERAS_BACKEND"], os.environ["KERAS_TORCH_DEVICE"] = "torch", "emulated:0"
warnings.simplefilter("ignore")

from tests.emulated import load  # noqa: E402

emulated = load()

import keras  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

from feedwatch.hooks.keras.facts import run_facts  # noqa: E402
from feedwatch.keras import FeedWatch  # noqa: E402
from feedwatch.selftest.bench import Bench  # noqa: E402
from feedwatch.selftest.scenarios import SCENARIOS  # noqa: E402
from tests.contract.records import kept_records  # noqa: E402

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
STEPS, BATCH, FLOATS = 30, 4, 250_000
torch.set_num_threads(1)


class Work(keras.layers.Layer):
    def call(self, inputs):
        torch.emulated.kernel(10.0, "step")
        return inputs[:, :4]


class Keeps(keras.callbacks.Callback):
    """Behind us: at the first epoch our session is there."""

    async_safe = True

    def __init__(self, watch):
        super().__init__()
        self.watch, self.records = watch, []

    def on_epoch_begin(self, epoch, logs=None):
        if not self.records:
            self.records = kept_records(self.watch._fit.run.session)

    def on_epoch_end(self, epoch, logs=None):
        torch.accelerator.synchronize()


def arrays():
    return {"x": np.zeros((STEPS * BATCH, FLOATS), "float32"), "y": np.zeros((STEPS * BATCH, 1), "float32")}


made_ms = []  # how long the generator took for each batch, by its own clock


def generator():
    made_ms.clear()
    for _ in range(STEPS):
        began_s = time.perf_counter()
        time.sleep(0.02)
        batch = np.zeros((BATCH, FLOATS), "float32"), np.zeros((BATCH, 1), "float32")
        made_ms.append(1e3 * (time.perf_counter() - began_s))
        yield batch


def copied_ms():
    """From the device's log."""
    return [it.duration_ns / 1e6 for it in emulated.operations("copy") if it.size_bytes >= 4 * BATCH * FLOATS]


def fit(name, data, **scope):
    emulated.reset()
    emulated.settings.pageable_gb_per_s = 0.5  # a batch of 4 MB takes 8 ms
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((FLOATS,)), Work(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    watch = FeedWatch(tempfile.mkdtemp(), console=False)
    keeps = Keeps(watch)
    model.fit(
        **data, batch_size=BATCH if "y" in data else None, callbacks=[watch, keeps], verbose=scope.get("verbose", 0)
    )
    steady = [record for record in keeps.records if record.kind.value == "steady"]
    run, report = watch._last.run.session.facts.run, watch.report

    def typical(field):
        return median([getattr(record, field) or 0 for record in steady]) / 1e6

    row = {"name": name, "clock": report.clock, "kind": run.device_kind, "device": run.device}
    row |= {"wait_ms": typical("input_wait_ns"), "copy_ms": typical("h2d_ns")}
    row |= {"made_ms": median(made_ms or [0.0]), "copied_ms": median(copied_ms())}
    row |= {"bound": report.verdict.bound.value, "synchronises": run.synchronises, "steps": len(keeps.records)}
    row |= {"devices": sorted({it.device for it in emulated.operations("event")}), "notes": report.self_cost.notes}
    row["converts"] = keras.src.backend.torch.core.convert_to_tensor.__module__
    print("RESULT " + json.dumps(row))


fit("arrays", arrays())
fit("generator", {"x": generator()})
with keras.device("emulated:1"):
    fit("scope", arrays(), verbose=2)
emulated.reset()
emulated.settings.pageable_gb_per_s = 0.5
row = BY_NAME["Keras on torch, arrays"].run(Bench("emulated:0"), Path(tempfile.mkdtemp()))
print("RESULT " + json.dumps({"name": "selftest", "said": row.said, "agree": row.agree}))
with keras.device("cpu:0"):
    print("RESULT " + json.dumps({"name": "cpu", "kind": run_facts(keras.Sequential(), 1, []).device_kind}))
