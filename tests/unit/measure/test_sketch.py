import random
import statistics

import pytest

from feedwatch.measure.sketch import Sketch


@pytest.mark.parametrize("share", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("draw", ["lognormvariate", "expovariate", "paretovariate"])
def test_quantiles_are_within_two_percent_of_the_truth(share, draw):
    source = random.Random(7)
    arguments = {"lognormvariate": (15, 1.0), "expovariate": (1e-6,), "paretovariate": (1.5,)}[draw]
    values = [max(1, round(1000 * getattr(source, draw)(*arguments))) for _ in range(20_000)]
    sketch = Sketch()
    sketch.add_all(values)
    truth = statistics.quantiles(values, n=100, method="inclusive")[round(share * 100) - 1]
    assert sketch.quantile(share) == pytest.approx(truth, rel=0.02)


def test_nothing_added_is_unknown_not_zero():
    assert Sketch().quantile(0.5) is None


def test_zeros_count():
    sketch = Sketch()
    sketch.add_all([0, 0, 0, 1000])
    assert sketch.quantile(0.5) == 0.0
    assert sketch.count == 4


def test_adding_one_by_one_equals_adding_at_once():
    one, many = Sketch(), Sketch()
    values = [5, 0, 123_456, 7_000_000_000, -3]
    for value in values:
        one.add(value)
    many.add_all(values)
    assert [one.quantile(q) for q in (0.1, 0.5, 0.9)] == [many.quantile(q) for q in (0.1, 0.5, 0.9)]
    assert (one.count, one.total) == (many.count, many.total)


def test_memory_is_bounded_whatever_the_values():
    sketch = Sketch()
    sketch.add_all(10**power * digit for power in range(40) for digit in range(1, 10))
    assert sketch.buckets < 1700
