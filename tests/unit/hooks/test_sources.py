import pytest

from feedwatch.hooks.sources import LONGEST_NS, Again, Batches, shell
from tests.fakes.clock import FakeClock


def test_batches_go_on_with_what_runs_and_begin_again_behind_its_end():
    ended = []
    source = Batches(lambda: iter([1, 2]), iter([9]), ended.append)
    assert source.next() == 9
    assert source.last == 9
    source.restart()
    assert [source.next(), source.next()] == [1, 2]
    assert len(ended) == 1
    source.close()
    assert source.last is None
    assert len(ended) == 2


def test_a_loop_that_ends_an_epoch_early_ends_it_at_every_turn():
    source = Batches(lambda: iter(range(9)), limit=2)
    for _ in range(2):
        assert [source.next(), source.next()] == [0, 1]
        with pytest.raises(StopIteration):
            source.next()
        source.restart()


def test_one_batch_again_and_again_survives_a_step_that_takes_it_apart():
    source = Again({"x": [1, 2], "labels": 3})
    source.next().pop("labels")
    source.next()["x"].append(5)
    assert source.next() == {"x": [1, 2], "labels": 3}


def test_a_shell_keeps_what_it_does_not_know():
    marker = object()
    assert shell((marker, [marker])) == (marker, [marker])
    assert shell(marker) is marker


def test_only_what_is_ready_is_thrown_away():
    clock = FakeClock()

    def made():
        for number in range(100):
            clock.advance_ms(0.2 if number < 4 else 8)  # four were made while others had their turn
            yield number

    source = Batches(made)
    source.skip(64, clock.now_ns)
    assert source.next() == 5  # the fifth had to be waited for
    always = Batches(lambda: iter(lambda: clock.advance_ms(1), 0))
    began_ns = clock.now_ns()
    always.skip(10**6, clock.now_ns)  # a cache has always one
    assert clock.now_ns() - began_ns < 2 * LONGEST_NS
    few = Batches(lambda: iter(range(9)))
    few.skip(2, clock.now_ns)
    assert few.next() == 2


def test_data_that_ends_while_it_is_thrown_away_ends_as_ever():
    with pytest.raises(StopIteration):
        Batches(lambda: iter([1, 2])).skip(5, FakeClock().now_ns)
