"""A cache as a finding."""

from feedwatch.advise.questions.cached import cached
from feedwatch.advise.questions.tf_data import cache_change, tf_look
from tests.rules.cases import fw126


def found():
    look = tf_look(next(iter(fw126.FIRES.values())))
    return cached(look, cache_change(look), title="Keep it", says="It is made again.")


def test_it_says_that_the_result_fits_and_where_the_cache_stands():
    one = found()
    assert one.says.startswith("It is made again. The result takes ")
    assert "of memory are free." in one.says
    assert ".cache()" in one.after
    assert one.gain.low < one.gain.high


def test_numbers_are_those_of_the_look_and_of_the_change():
    assert {"repeated_ms", "epoch_bytes", "ram_available_bytes", "batch_ms"} <= set(found().numbers)
