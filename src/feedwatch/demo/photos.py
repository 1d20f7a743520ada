"""A made-up photo library: real compressed bytes that take real work to decode."""

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

SIDE = 96
CLASSES = 10

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Photo:
    packed: bytes
    label: int


def make_photos(count: int, side: int = SIDE, seed: int = 0) -> list[Photo]:
    random = np.random.default_rng(seed)
    wave = np.sin(np.linspace(0, 12, side))[:, None, None] * 60 + 128
    photos = []
    for _ in range(count):
        label = int(random.integers(CLASSES))
        noise = random.integers(-20, 20, (side, side, 3))
        pixels = np.clip(wave + noise + 4 * label, 0, 255).astype(np.uint8)
        photos.append(Photo(zlib.compress(pixels.tobytes(), 1), label))
    return photos


def decode(packed: bytes, side: int = SIDE) -> Array:
    pixels = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(side, side, 3)
    return pixels.astype(np.float32) / 255.0


def normalise(pixels: Array) -> Array:
    """Per-channel whitening and a soft-contrast curve: the kind of numpy work that fills real pipelines."""
    centred = (pixels - pixels.mean(axis=(0, 1))) / (pixels.std(axis=(0, 1)) + 1e-5)
    return np.asarray(np.tanh(centred), dtype=np.float32)
