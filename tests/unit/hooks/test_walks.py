"""Who leads when several loaders are walked, on a fake clock and without a framework."""

import pytest

from tests.fakes.loops import FakeLoopWatch, data


@pytest.fixture
def watch(tmp_path):
    watch = FakeLoopWatch(tmp_path)
    yield watch
    watch.close()


def test_two_loaders_that_are_asked_in_turn_feed_one_step(watch):
    for _ in zip(watch(data(watch, 9, wait_ms=3)), watch(data(watch, 9, wait_ms=4)), strict=False):
        watch.clock.advance_ms(5)
    last = watch.last
    assert last.input_wait_ms == pytest.approx(7)
    assert last.compute_ms == pytest.approx(5)
    assert watch.close().steps.batches == 9


def test_a_loop_inside_a_loop_has_the_steps(watch):
    for _ in watch(data(watch, 3, wait_ms=50)):
        for _ in watch(data(watch, 6, wait_ms=1)):
            watch.clock.advance_ms(4)
        assert watch.last.compute_ms == pytest.approx(4)
    assert watch.close().steps.batches == 18


def test_an_iterator_that_was_left_open_does_not_swallow_the_next_loop(watch):
    kept = iter(watch(data(watch, 9, wait_ms=1)))
    next(kept)
    for _ in watch(data(watch, 9, wait_ms=2)):
        watch.clock.advance_ms(3)
    assert watch.last.input_wait_ms == pytest.approx(2, abs=0.2)  # its first fetch is part of the step of the other
    for _ in kept:  # and goes on later
        watch.clock.advance_ms(3)
    assert watch.close().steps.batches == 16


def test_validation_is_kept_apart_wherever_it_stands(watch):
    for number in watch(data(watch, 6, wait_ms=1)):
        watch.clock.advance_ms(4)
        if number == 3:
            for _ in watch.validation(data(watch, 5, wait_ms=100)):
                watch.clock.advance_ms(100)
    for _ in watch.validation([1, 2]):
        break  # left early
    steps = watch._run.session.steps
    report = watch.close()
    assert report.steps.batches == 6
    assert steps.validation_ns == 1_000_000_000


def test_nothing_is_kept_of_a_loop_that_was_left(watch):
    for _ in watch(data(watch, 9, wait_ms=1)):
        break
    assert watch._walks.leader is None


def test_every_loader_is_seen_once_per_walk_before_it_is_iterated(watch):
    first, second = [1], [2]
    for loader in (first, second, first):
        list(watch(loader))
    assert watch.looks.seen == [first, second, first]


def test_a_batch_that_found_no_partner_was_not_trained(watch):
    for _ in range(2):
        for _ in zip(watch(data(watch, 9, wait_ms=3)), watch(data(watch, 6, wait_ms=4)), strict=False):
            watch.clock.advance_ms(5)
    assert watch.close().steps.batches == 12


def test_a_shorter_loader_that_begins_again_feeds_the_same_steps(watch):
    short = iter(watch(data(watch, 2, wait_ms=4)))
    for _ in watch(data(watch, 9, wait_ms=3)):
        if next(short, None) is None:
            short = iter(watch(data(watch, 2, wait_ms=4)))
            next(short)
        watch.clock.advance_ms(5)
    assert watch.close().steps.batches == 9
