"""Keras: one small function per cause. Numbers in comments are for one thread of the machine in RESULTS.md."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from benchmarks.zoo import keras_parts as parts
from benchmarks.zoo.case import Advised, Registry
from benchmarks.zoo.keras_parts import AUTOTUNE, BATCH, FEATURES, Plan
from feedwatch.demo.photos import decode, make_photos, normalise

KERAS = Registry("keras")
case = KERAS.case


# -- healthy ------------------------------------------------------------------------------------------------


@case(None, "parallel map and prefetch make a batch in a part of the step")
def healthy_prefetch(_: Advised | None) -> Plan:
    data = parts.photos(BATCH * 50, 64).shuffle(500).map(parts.augment, AUTOTUNE).batch(BATCH).prefetch(AUTOTUNE)
    return Plan(data, device_ms=0, rounds=40)


@case(None, "arrays in memory")
def healthy_arrays(_: Advised | None) -> Plan:
    return Plan(parts.rows(256 * 100), batch_size=256, device_ms=0, rounds=2)


@case(None, "cached, shuffled in memory, prefetched")
def healthy_cache(_: Advised | None) -> Plan:
    data = parts.photos(BATCH * 50, 64).map(parts.prepare, AUTOTUNE).cache().shuffle(500).batch(BATCH)
    return Plan(data.prefetch(AUTOTUNE), device_ms=12)


# -- one cause each -----------------------------------------------------------------------------------------


@case("FW120", "photos are decoded one after the other")
def serial_map(fix: Advised | None) -> Plan:
    calls = None if fix is None else AUTOTUNE
    data = parts.photos(BATCH * 60, 384).shuffle(960).map(parts.augment, calls).batch(BATCH)
    return Plan(data.prefetch(AUTOTUNE), device_ms=5, rounds=0)


@case("FW121", "nothing is made while the step computes")
def no_prefetch(fix: Advised | None) -> Plan:
    # tf.data adds a prefetch by itself unless its optimiser is switched off, as people do to see what runs.
    as_written = tf.data.Options()
    as_written.experimental_optimization.apply_default_optimizations = False
    (name,) = parts.record_files(1, BATCH * 40, 80_000)
    data = (
        tf.data.TFRecordDataset(name, "GZIP")
        .repeat(3)
        .shuffle(64)
        .batch(BATCH)
        .map(parts.unpack)
        .with_options(as_written)
    )
    return Plan(data if fix is None else data.prefetch(AUTOTUNE), device_ms=10, epochs=1)


@case("FW122", "the number of parallel calls is fixed to one")
def fixed_calls(fix: Advised | None) -> Plan:
    calls = 1 if fix is None else AUTOTUNE
    data = parts.photos(BATCH * 60, 384).shuffle(960).map(parts.augment, calls).batch(BATCH)
    return Plan(data.prefetch(AUTOTUNE), device_ms=5, rounds=0)


@case("FW123", "compressed files are read one after the other")
def serial_reader(fix: Advised | None) -> Plan:
    names = parts.record_files(4, BATCH * 5, 200_000)
    if fix is None:
        data = tf.data.TFRecordDataset(names, "GZIP")
    else:
        files = tf.data.Dataset.from_tensor_slices(names)
        data = files.interleave(
            lambda name: tf.data.TFRecordDataset(name, "GZIP"),
            cycle_length=int(fix.get("readers", 2)),
            num_parallel_calls=AUTOTUNE,
        )
    return Plan(data.repeat(8).batch(BATCH).map(parts.unpack).prefetch(AUTOTUNE), device_ms=5, epochs=1)


def in_python(packed: bytes) -> Any:
    return normalise(decode(packed)).ravel()[:FEATURES]


def in_tensorflow(packed: Any, label: Any) -> tuple[Any, Any]:
    raw = tf.io.decode_raw(tf.io.decode_compressed(packed, "ZLIB"), tf.uint8)
    pixels = tf.cast(tf.reshape(raw, (96, 96, 3)), tf.float32) / 255.0
    mean, variance = tf.nn.moments(pixels, (0, 1))
    return tf.reshape(tf.tanh((pixels - mean) / (tf.sqrt(variance) + 1e-5)), [-1])[:FEATURES], label


@case("FW124", "a numpy function in the map")
def python_map(fix: Advised | None) -> Plan:
    def by_numpy(packed: Any, label: Any) -> tuple[Any, Any]:
        features = tf.numpy_function(in_python, [packed], tf.float32)
        return tf.ensure_shape(features, [FEATURES]), label

    unique = make_photos(16)
    packed = tf.constant([unique[index % 16].packed for index in range(32 * 40)])
    data = tf.data.Dataset.from_tensor_slices((packed, tf.range(32 * 40) % 10)).shuffle(1280)
    data = data.map(by_numpy if fix is None else in_tensorflow, AUTOTUNE).batch(32)
    return Plan(data.prefetch(AUTOTUNE), device_ms=4, rounds=0)


@case("FW125", "a call per row that costs as much as its work")
def map_per_row(fix: Advised | None) -> Plan:
    def scale(features: Any, label: Any) -> tuple[Any, Any]:
        for _ in range(48):
            features = tf.sin(features)
        return features, label

    data = tf.data.Dataset.from_tensor_slices(parts.rows(1024 * 30)).shuffle(2_000)
    data = data.map(scale).batch(1024) if fix is None else data.batch(1024).map(scale)
    return Plan(data.prefetch(AUTOTUNE), device_ms=4, rounds=0)


@case("FW126", "the same decoding in every epoch")
def no_cache(fix: Advised | None) -> Plan:
    data = parts.photos(32 * 50, 384).map(parts.shrink, AUTOTUNE)
    if fix is not None:
        data = data.cache()
        for _ in data:  # the gain is promised from the second epoch on
            pass
    data = data.shuffle(96).map(parts.jitter, AUTOTUNE).batch(32)
    return Plan(data.prefetch(AUTOTUNE), rounds=0, epochs=2)


def read_row(name: Any) -> tuple[Any, Any]:
    """The features in one file, the label in another, as folders of photos and annotations are laid out."""
    row = tf.ensure_shape(tf.io.decode_raw(tf.io.read_file(name), tf.float32), [FEATURES])
    label = tf.io.decode_raw(tf.io.read_file(tf.strings.join([name, ".label"])), tf.int32)
    return row, tf.ensure_shape(label, [1])[0]


def read_record(record: Any) -> tuple[Any, Any]:
    """The advised edit: the same function, taking the bytes instead of the path."""
    row = tf.ensure_shape(tf.io.decode_raw(tf.strings.substr(record, 4, 4 * FEATURES), tf.float32), [FEATURES])
    label = tf.io.decode_raw(tf.strings.substr(record, 0, 4), tf.int32)
    return row, tf.ensure_shape(label, [1])[0]


@case("FW127", "two files per row")
def small_files(fix: Advised | None) -> Plan:
    place, (features, _) = parts.directory(), parts.rows(2_560)
    labels = [np.int32(number % parts.CLASSES).tobytes() for number in range(len(features))]
    if fix is None:
        names = [str(place / f"{number}.row") for number in range(len(features))]
        for name, row, label in zip(names, features, labels, strict=True):
            Path(name).write_bytes(row.tobytes())
            Path(f"{name}.label").write_bytes(label)
        data = tf.data.Dataset.from_tensor_slices(names * 8).shuffle(20_000).map(read_row, AUTOTUNE).batch(512)
        return Plan(data.prefetch(AUTOTUNE), device_ms=8, rounds=0)
    name = str(place / "all.tfrecord")
    with tf.io.TFRecordWriter(name) as writer:
        for row, label in zip(features, labels, strict=True):
            writer.write(label + row.tobytes())
    data = tf.data.TFRecordDataset([name] * 8).shuffle(1_000).map(read_record, AUTOTUNE).batch(512)
    return Plan(data.prefetch(AUTOTUNE), device_ms=8, rounds=0)


@case("FW128", "every epoch begins by filling a large shuffle buffer", gain_of="run")
def cold_shuffle(fix: Advised | None) -> Plan:
    buffer = 480 if fix is None else int(fix.get("buffer_size_advised", 128))
    data = parts.photos(BATCH * 32, 384).map(parts.prepare, AUTOTUNE).shuffle(buffer).batch(BATCH)
    return Plan(data.prefetch(AUTOTUNE), device_ms=16, rounds=0, epochs=6)


class Batches(keras.utils.PyDataset):
    """Half storage, half decoding."""

    def __init__(self, count: int, **settings: Any) -> None:
        super().__init__(**settings)
        self._photos, self._count = make_photos(16), count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        time.sleep(0.012)
        rows = [normalise(decode(photo.packed)).ravel()[:FEATURES] for photo in self._photos[:12]]
        return np.stack(rows), np.arange(12) % parts.CLASSES


def _in_processes(fix: Advised) -> dict[str, Any]:
    return {"workers": int(fix.get("workers_advised", 2)), "use_multiprocessing": True, "max_queue_size": 10}


@case("FW130", "a PyDataset makes one batch at a time")
def serial_pydataset(fix: Advised | None) -> Plan:
    return Plan(Batches(50, **({} if fix is None else _in_processes(fix))))


def endless(batches: Batches) -> Iterator[Any]:
    while True:
        for index in range(len(batches)):
            yield batches[index]


@case("FW131", "a Python generator makes one batch at a time")
def generator(fix: Advised | None) -> Plan:
    if fix is None:
        return Plan(endless(Batches(50)), steps_per_epoch=50)
    return Plan(Batches(50, **_in_processes(fix)))


@case("FW132", "decoding takes both CPUs")
def cpu_saturated(fix: Advised | None) -> Plan:
    side = 512 if fix is None else 384  # shrunk offline
    data = parts.photos(32 * 80, side).shuffle(1280).map(parts.augment, AUTOTUNE).batch(32)
    # One epoch: of a sample of CPU use that holds the end of an epoch, too much is idle.
    return Plan(data.prefetch(AUTOTUNE), device_ms=10, rounds=0, epochs=1)


@case("FW302", "every operation of the step is started from Python")
def eager_step(fix: Advised | None) -> Plan:
    return Plan(parts.rows(64 * 60), batch_size=64, device_ms=0, rounds=8, compiled={"run_eagerly": fix is None})


class WatchesWeights(keras.callbacks.Callback):
    def __init__(self, stride: int) -> None:
        super().__init__()
        self._stride = stride
        self._spectra: list[Any] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if batch % self._stride == 0:
            weights = self.model.get_layer("hidden").get_weights()[0]
            self._spectra.append(np.linalg.svd(weights, compute_uv=False))


@case("FW304", "a callback looks at the spectrum of the weights after every step")
def slow_callback(fix: Advised | None) -> Plan:
    callback = WatchesWeights(1 if fix is None else int(fix.get("every_n_steps", 50)))
    return Plan(parts.rows(64 * 50), batch_size=64, callbacks=[callback])


@case("FW308", "a short run that spends its time on compiling", gain_of="run")
def short_run(fix: Advised | None) -> Plan:
    compiled = {"jit_compile": fix is None}
    return Plan(parts.rows(8 * 20), batch_size=8, device_ms=0, rounds=120, epochs=1, compiled=compiled)
