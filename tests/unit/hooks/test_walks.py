"""Who leads when several loaders are walked, on a fake clock and without a framework."""

import contextlib

import pytest

from feedwatch.guard import FeedwatchWarning
from feedwatch.model.report import Status
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


# -- nothing of ours ends the loop -----------------------------------------------------------------


def broken(*_):
    raise ZeroDivisionError("planted")


@pytest.mark.lenient
@pytest.mark.parametrize("part", ["at_loader", "at_iterator", "samples", "at_first", "closer"])
def test_what_looks_at_a_loop_may_fail_and_is_switched_off(watch, part):
    setattr(watch.looks, part, broken)
    watch.looks.next_look = 0
    with pytest.warns(FeedwatchWarning, match="planted") as said:
        for _ in range(4):
            assert list(watch(range(5))) == list(range(5))
    assert len(said) == 1
    assert len(watch._run.marks.rows) < 100
    assert watch.close().status is Status.FINISHED


@pytest.mark.lenient
def test_where_marks_cannot_be_handed_over_none_are_kept(watch, monkeypatch):
    with pytest.warns(FeedwatchWarning, match="planted"):
        list(watch(range(2)))
        monkeypatch.setattr(watch._run, "hand_over", broken)
        watch._run.marks.most = 1
        assert list(watch(range(100))) == list(range(100))
    assert len(watch._run.marks.rows) < 40  # of 300


@pytest.mark.lenient
def test_a_device_that_is_lost_in_a_copy_of_the_users_is_not_their_error(watch):
    class Lost:
        asked = got_and_begun = pause = enter = leave = broken

    for number in watch(data(watch, 3, wait_ms=1)):
        watch.looks.device = Lost() if number == 1 else None
        with (
            pytest.warns(FeedwatchWarning, match="planted") if number == 1 else contextlib.nullcontext(),
            watch.copying(),
        ):
            pass
