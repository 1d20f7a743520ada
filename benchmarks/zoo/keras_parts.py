"""What the Keras cases are made of: JPEGs and records that take real work, a net, a device that takes a chosen time."""

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.data.experimental.ops import testing

CLASSES = 10
FEATURES = 256
WIDTH = 384
SLIM = 16  # of a net that leaves all computing to its device
BATCH = 16
AUTOTUNE = tf.data.AUTOTUNE


@dataclass
class Plan:
    data: Any
    device_ms: float = 8.0  # of every step, on a device that is not there; 0: all of the step is computed here
    rounds: int = 1  # of the net's hidden layer, on the CPU: half a millisecond each with 16 samples
    epochs: int = 2
    batch_size: int | None = None  # for arrays only
    steps_per_epoch: int | None = None  # for endless data only
    callbacks: Sequence[Any] = field(default=())
    compiled: Mapping[str, Any] = field(default_factory=dict)


def one_thread() -> None:
    """Per operation. Operations still run side by side, as do the stages of tf.data."""
    tf.config.threading.set_intra_op_parallelism_threads(1)


class Stopwatch(keras.callbacks.Callback):
    """The script's own clock, to check feedwatch's figures against."""

    def __init__(self) -> None:
        super().__init__()
        self.began_s = 0.0
        self.ends: list[list[float]] = []  # of the batches, by epoch

    def on_train_begin(self, logs: Any = None) -> None:
        self.began_s = time.perf_counter()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.ends.append([])

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.ends[-1].append(time.perf_counter())


class Device(keras.layers.Layer):
    """Takes its time as an accelerator does: the step waits for it, no CPU computes and no Python runs meanwhile.

    tf.data has the only operation of TensorFlow that sleeps.
    """

    def __init__(self, takes_ms: float) -> None:
        super().__init__()
        as_written = tf.data.Options()
        as_written.experimental_optimization.apply_default_optimizations = False  # no sleeping ahead
        as_written.autotune.enabled = False
        naps = tf.data.Dataset.range(1).repeat().apply(testing.sleep(int(1000 * takes_ms)))
        self._naps = iter(naps.with_options(as_written))

    def call(self, state: Any) -> Any:
        with tf.control_dependencies([state]):
            nap = self._naps.get_next()
        with tf.control_dependencies([nap]):
            return tf.identity(state)


def net(rounds: int, device_ms: float) -> Any:
    """One hidden layer, used over and over: as much computing as asked for, in little memory."""
    features = keras.Input((FEATURES,))
    hidden = keras.layers.Dense(WIDTH, activation="tanh", name="hidden")
    state = keras.layers.Dense(WIDTH if rounds else SLIM)(features)
    for _ in range(rounds):
        state = hidden(state)
    if device_ms:
        state = Device(device_ms)(state)
    return keras.Model(features, keras.layers.Dense(CLASSES)(state))


def train(plan: Plan, log_dir: str) -> tuple[Any, Stopwatch]:
    """The report, and the script's own clock."""
    from feedwatch.keras import FeedWatch

    keras.utils.set_random_seed(1)
    model = net(plan.rounds, plan.device_ms)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.001), loss, **{"jit_compile": False, **plan.compiled})
    watch, stopwatch = FeedWatch(log_dir, console=False), Stopwatch()
    given = plan.data if isinstance(plan.data, tuple) else (plan.data,)
    model.fit(
        *given,
        batch_size=plan.batch_size,
        epochs=plan.epochs,
        steps_per_epoch=plan.steps_per_epoch,
        verbose=0,
        callbacks=[watch, stopwatch, *plan.callbacks],
    )
    return watch.report, stopwatch


@cache
def jpegs(side: int, unique: int = 16) -> list[bytes]:
    random = np.random.default_rng(0)
    coarse = random.integers(0, 255, (unique, side // 8, side // 8, 3))
    return [tf.io.encode_jpeg(one.repeat(8, 0).repeat(8, 1).astype("uint8")).numpy() for one in coarse]


def photos(count: int, side: int) -> Any:
    """`count` JPEGs in memory with their labels."""
    unique = jpegs(side)
    packed = tf.constant([unique[index % len(unique)] for index in range(count)])
    return tf.data.Dataset.from_tensor_slices((packed, tf.range(count) % CLASSES))


def prepare(photo: Any, label: Any) -> tuple[Any, Any]:
    """Real decoding and resizing; only the features that the net reads are handed over."""
    pixels = tf.image.convert_image_dtype(tf.io.decode_jpeg(photo, channels=3), tf.float32)
    small = tf.image.resize(pixels, (32, 32), antialias=True)
    return tf.reshape(small, [32 * 32 * 3])[:FEATURES], label


def augment(photo: Any, label: Any) -> tuple[Any, Any]:
    features, label = prepare(photo, label)
    return features * tf.random.uniform([], 0.8, 1.2), label


def shrink(photo: Any, label: Any) -> tuple[Any, Any]:
    """The same in every epoch."""
    pixels = tf.image.convert_image_dtype(tf.io.decode_jpeg(photo, channels=3), tf.float32)
    return tf.image.resize(pixels, (96, 96), antialias=True), label


def jitter(pixels: Any, label: Any) -> tuple[Any, Any]:
    """Another one in every epoch: what stays when the rest is cached."""
    for _ in range(2):
        pixels = tf.image.random_saturation(tf.image.random_hue(pixels, 0.05), 0.8, 1.2)
    return tf.reshape(pixels, [96 * 96 * 3])[:FEATURES], label


def rows(count: int) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    return random.random((count, FEATURES), np.float32), random.integers(0, CLASSES, count)


def directory() -> Path:
    return Path(tempfile.mkdtemp(prefix="feedwatch-zoo-"))


def record_files(files: int, records: int, size_bytes: int) -> list[str]:
    """Compressed TFRecord files; what costs is unpacking them."""
    random, place = np.random.default_rng(0), directory()
    options = tf.io.TFRecordOptions("GZIP", compression_level=1)
    names = []
    for number in range(files):
        names.append(str(place / f"{number}.tfrecord"))
        with tf.io.TFRecordWriter(names[-1], options) as writer:
            for _ in range(records):
                writer.write(random.integers(0, 64, size_bytes, np.uint8).tobytes())
    return names


def unpack(records: Any) -> tuple[Any, Any]:
    """A batch of records at once."""
    numbers = tf.io.decode_raw(tf.strings.substr(records, 0, FEATURES), tf.uint8)
    numbers = tf.ensure_shape(numbers, [None, FEATURES])
    return tf.cast(numbers, tf.float32) / 64, tf.cast(numbers[:, 0] % CLASSES, tf.int32)
