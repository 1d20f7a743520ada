import pytest

from feedwatch.hooks.sources import Again, Batches, shell


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
