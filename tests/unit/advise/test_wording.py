"""Numbers as people read them."""

import pytest

from feedwatch.advise.wording import count, ms, percent, rate, seconds, size, times


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.321, "0.32 ms"), (3.21, "3.2 ms"), (32.1, "32 ms"), (999.6, "1.0 s"), (321, "321 ms"), (65_000, "65 s")],
)
def test_milliseconds(value, text):
    assert ms(value) == text


def test_other_units():
    assert seconds(0.5) == "500 ms"
    assert percent(0.123) == "12 %"
    assert percent(0.0042) == "0.4 %"
    assert times(1.84) == "1.8×"
    assert times(12.4) == "12×"
    assert size(1_500_000) == "1.5 MB"
    assert size(12) == "12 bytes"
    assert rate(12.3) == "12 GB/s"
    assert count(1, "worker") == "1 worker"
    assert count(1.5, "CPU") == "1.5 CPUs"
