"""Keras: photos are decoded and augmented one after the other in a serial `map`, and nothing is prefetched."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from feedwatch.demo.photos import decode, make_photos
from feedwatch.demo.story import Tick
from feedwatch.model.report import Report
from feedwatch.model.verdict import Finding


@contextmanager
def quiet_stderr() -> Iterator[None]:
    """TensorFlow writes about missing CUDA drivers before any log level applies. Its lines come from C++, so they are
    caught at the level of the file descriptor.
    """
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
with quiet_stderr():
    import keras
    import tensorflow as tf

PHOTOS, SIDE, BATCH, EPOCHS = 1280, 256, 32, 5


class KerasChapter:
    title = "Keras"
    steps = PHOTOS // BATCH * EPOCHS

    def __init__(self, epochs: int = EPOCHS) -> None:
        self._epochs = epochs
        self.steps = PHOTOS // BATCH * epochs
        self._photos: Any = None

    def train(
        self, log_dir: Path, applied: Finding | None, tick: Tick, *, trial: bool | float = False
    ) -> Report | None:
        from feedwatch.keras import FeedWatch

        watch = FeedWatch(log_dir, console=False, trial=trial)
        with suppress(SystemExit):  # a trial ends its script
            fit(self._data(None if applied is None else applied.code), self._epochs, [watch, _Ticker(tick)])
        return watch.report

    def _data(self, applied: str | None) -> Any:
        if self._photos is None:
            self._photos = jpegs()
        packed, labels = self._photos
        return pipeline(packed, labels, applied)


def jpegs() -> tuple[Any, Any]:
    """Real JPEGs in memory: what is slow here is decoding them."""
    unique = make_photos(64, SIDE)
    packed = [tf.io.encode_jpeg((decode(p.packed, SIDE) * 255).astype("uint8")).numpy() for p in unique]
    labels = [photo.label for photo in unique]
    repeat = PHOTOS // len(unique)
    return packed * repeat, labels * repeat


def pipeline(packed: Any, labels: Any, applied: str | None) -> Any:
    def prepare(photo: Any, label: Any) -> Any:
        pixels = tf.image.convert_image_dtype(tf.io.decode_jpeg(photo, channels=3), tf.float32)
        # A random op keeps tf.data from making this map parallel by itself.
        return tf.image.resize(tf.image.random_flip_left_right(pixels), (32, 32), antialias=True), label

    parallel = tf.data.AUTOTUNE if applied == "FW120" else None
    data = tf.data.Dataset.from_tensor_slices((packed, labels)).shuffle(PHOTOS)
    data = data.map(prepare, num_parallel_calls=parallel).batch(BATCH, drop_remainder=True)
    return data.prefetch(tf.data.AUTOTUNE) if applied == "FW121" else data


def fit(data: Any, epochs: int, callbacks: list[Any]) -> Any:
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
            keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10),
        ]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(data, epochs=epochs, shuffle=False, verbose=0, callbacks=callbacks)
    return model


class _Ticker(keras.callbacks.Callback):  # type: ignore[misc]
    def __init__(self, tick: Tick) -> None:
        super().__init__()
        self._tick = tick

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002 -- Keras' signature
        self._tick()
