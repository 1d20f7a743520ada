"""Keras reads its backend once per process: its scenarios run in a process of their own, unless this one fits."""

import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from feedwatch.model.facts import Transfers
from feedwatch.model.steps import H2D
from feedwatch.model.verdict import Bound
from feedwatch.selftest.row import Row
from feedwatch.words import ms, percent, size

LONGEST_SECONDS: Final = 120.0
BATCH_BYTES: Final = 8 * 64 * 4
Scene = Callable[[Path], Row]


def missing(backend: str, package: str, *, spawned: bool) -> str | None:
    """`spawned`: a process of its own finds the device, too."""
    if find_spec("keras") is None or find_spec(package) is None:
        return f"Keras and {package}"
    return None if spawned or _here(backend) else f"KERAS_BACKEND={backend}"


def run(backend: str, scene: Scene, folder: Path, **environment: str) -> Row:
    if _here(backend):
        return scene(folder)
    ours, theirs = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("spawn")
    settings = {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3", **environment}
    process = context.Process(target=_child, args=(scene, folder, settings, theirs))
    process.start()
    theirs.close()
    try:
        return Row(*ours.recv()) if ours.poll(LONGEST_SECONDS) else Row("", "no answer in two minutes", agree=False)
    except EOFError:
        process.join()
        return Row("", f"its process ended with {process.exitcode}", agree=False)
    finally:
        process.kill()
        process.join()


def _here(backend: str) -> bool:
    return "keras" in sys.modules and sys.modules["keras"].backend.backend() == backend


def _child(scene: Scene, folder: Path, settings: dict[str, str], answer: Connection) -> None:
    os.environ.update(settings)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what TensorFlow writes past Python
    answer.send(tuple(scene(folder)))
    answer.close()


# -- the scenes -------------------------------------------------------------------------------------


def tensorflow_input_bound(folder: Path) -> Row:
    """On a GPU batches are sent ahead, and nothing of ours may send them back."""
    import keras
    import tensorflow as tf

    from feedwatch.keras import FeedWatch

    def batches() -> Any:
        for _ in range(40):
            time.sleep(0.02)
            yield tf.ones([8, 64]), tf.ones([8, 1])

    signature = (tf.TensorSpec([8, 64]), tf.TensorSpec([8, 1]))
    data: Any = tf.data.Dataset.from_generator(batches, output_signature=signature)
    on_gpu = bool(tf.config.get_visible_devices("GPU"))
    if on_gpu:
        data = data.apply(tf.data.experimental.prefetch_to_device("/GPU:0"))
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    watch = FeedWatch(folder, console=False, profile=on_gpu)
    model.fit(data, callbacks=[watch], verbose=0)
    assert watch.report is not None
    verdict = watch.report.verdict
    agree = verdict.bound is Bound.INPUT and verdict.stall_ratio is not None and verdict.stall_ratio > 0.5
    row = Row("input, waits most of the time", f"{verdict.bound.value}, waits {percent(verdict.stall_ratio)}", agree)
    if not on_gpu or watch._last is None:
        return row
    return _with_way_back(row, watch._last.run.session.facts.transfers)


def _with_way_back(row: Row, transfers: Transfers | None) -> Row:
    device = None if transfers is None else transfers.sample.devices.get(transfers.device)
    back = None if device is None or device.to_host is None or not device.steps else device.to_host
    each = None if back is None or device is None else back.size_bytes / device.steps
    agree = row.agree and each is not None and each < BATCH_BYTES / 2
    return Row(f"{row.truth}; no batch comes back", f"{row.said}; {size(each)} per step come back", agree)


def torch_arrays(folder: Path) -> Row:
    import keras
    import numpy as np

    from feedwatch.keras import FeedWatch

    model = keras.Sequential([keras.Input((250_000,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    watch = FeedWatch(folder, console=False)
    values = np.ones((120, 250_000), "float32")
    model.fit(values, values[:, :1], batch_size=4, callbacks=[watch], verbose=0)
    assert watch.report is not None
    copy, bound = watch.report.phases.get(H2D), watch.report.verdict.bound
    said = f"copy {ms(None if copy is None else copy.ms)}, {bound.value}"
    return Row("the copy is seen, not input", said, copy is not None and bound is not Bound.INPUT)
