import numpy as np

from feedwatch.demo.photos import CLASSES, decode, make_photos, normalise


def test_the_library_is_the_same_on_every_machine():
    assert make_photos(3, 16) == make_photos(3, 16)
    assert make_photos(3, 16) != make_photos(3, 16, seed=1)


def test_a_photo_decodes_to_colours_between_0_and_1():
    for photo in make_photos(4, 16):
        pixels = decode(photo.packed, 16)
        assert pixels.shape == (16, 16, 3)
        assert 0.0 <= pixels.min() <= pixels.max() <= 1.0
        assert 0 <= photo.label < CLASSES


def test_normalising_centres_each_channel():
    whitened = normalise(decode(make_photos(1)[0].packed))
    assert whitened.dtype == np.float32
    assert np.abs(whitened.mean(axis=(0, 1))).max() < 0.1
    assert np.abs(whitened).max() <= 1.0
