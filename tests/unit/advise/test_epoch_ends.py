"""The figures beside the rows are pauses as measured with TensorFlow 2.21."""

import pytest

from feedwatch.advise.epoch_ends import LONGEST_MS, rest_of_sleep_ms, usual_rest_of_sleep_ms


@pytest.mark.parametrize(
    ("lasted_ms", "measured_ms"),
    [(439, 217), (362, 313), (810, 514), (737, 554), (672, 617), (855, 429), (1326, 1254), (1413, 1154), (1736, 831)],
)
def test_an_epoch_ends_when_the_tuner_wakes(lasted_ms, measured_ms):
    assert measured_ms - 60 <= rest_of_sleep_ms(lasted_ms) <= measured_ms


def test_it_never_takes_longer_than_the_epoch_did_nor_than_a_minute():
    for lasted_ms in range(10, 400_000, 997):
        assert 0 <= rest_of_sleep_ms(lasted_ms) <= min(lasted_ms + 10, LONGEST_MS)


def test_where_the_length_is_not_quite_known_neither_is_the_rest():
    assert rest_of_sleep_ms(629) == pytest.approx(1)
    assert 100 < usual_rest_of_sleep_ms(629, 0.25) < 500
    assert usual_rest_of_sleep_ms(400, 0.0) == pytest.approx(rest_of_sleep_ms(400))
