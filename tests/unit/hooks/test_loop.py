"""What a user calls, on a fake clock and without a framework."""

import pytest

from feedwatch.errors import SettingError
from feedwatch.guard import FeedwatchWarning
from feedwatch.model.report import Status
from tests.fakes.loops import FakeLoopWatch, data


@pytest.fixture
def watch(tmp_path):
    watch = FakeLoopWatch(tmp_path)
    yield watch
    watch.close()


def test_the_wait_is_the_fetch_and_the_rest_is_the_step(watch):
    for _ in watch(data(watch, 20, wait_ms=3)):
        watch.clock.advance_ms(9)
    assert watch.last.input_wait_ms == pytest.approx(3)
    assert watch.last.compute_ms == pytest.approx(9)
    assert watch.last.copy_ms is None
    assert watch.summary() == "wait 3 ms, copy not measured, compute 9 ms"
    assert watch.close().steps.batches == 20


def test_before_the_first_step_there_is_nothing_to_tell(watch):
    assert watch.last is None
    assert watch.summary() == "no step yet"


def test_a_copy_that_is_told_is_no_computing(watch):
    for _ in watch(data(watch, 8, wait_ms=3)):
        with watch.copying():
            watch.clock.advance_ms(2)
        watch.clock.advance_ms(5)
    assert watch.last[:3] == (pytest.approx(3), pytest.approx(2), pytest.approx(5))


def test_a_resumed_run_counts_on(tmp_path):
    watch = FakeLoopWatch(tmp_path, start_step=100, start_epoch=7)
    for _ in watch(data(watch, 4, wait_ms=1)):
        watch.clock.advance_ms(4)
    watch.close()
    assert watch._run.session.steps.steps == 104


@pytest.mark.parametrize("wrong", [{"start_step": -1}, {"start_epoch": 1.5}, {"start_step": True}])
def test_a_start_that_cannot_be_is_one_clear_error(tmp_path, wrong):
    with pytest.raises(SettingError, match=next(iter(wrong))):
        FakeLoopWatch(tmp_path, **wrong)


def test_what_was_wrapped_before_the_close_gives_plain_batches_after_it(watch):
    batches = watch([1, 2, 3])
    assert list(batches) == [1, 2, 3]
    watch.close()
    assert list(batches) == [1, 2, 3]
    for closed in (watch, watch.validation):
        with pytest.raises(SettingError, match="closed"):
            closed([1])


def test_validation_of_something_that_cannot_be_iterated_is_one_clear_error(watch):
    with pytest.raises(SettingError, match=r"watch.validation\(...\) takes something to iterate over, not int"):
        watch.validation(3)


def test_a_directory_that_cannot_be_made_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="cannot be made"):
        FakeLoopWatch(tmp_path / "file" / "below")


def test_ctrl_c_passes_through_and_the_run_is_interrupted(tmp_path):
    watch = FakeLoopWatch(tmp_path)
    stop = KeyboardInterrupt()

    def loop():
        with watch:
            for number in watch(data(watch, 9, wait_ms=1)):
                watch.clock.advance_ms(4)
                if number == 5:
                    raise stop

    with pytest.raises(KeyboardInterrupt) as caught:
        loop()
    assert caught.value is stop
    assert watch.report.status is Status.INTERRUPTED
    assert watch.report.steps.batches == 5


@pytest.mark.parametrize("opened", [True, False])
def test_a_watch_that_was_closed_is_refused_also_where_it_was_never_used(tmp_path, opened):
    watch = FakeLoopWatch(tmp_path)
    early = watch([1, 2])
    with watch:
        if opened:
            list(watch([1]))
    for call in (watch, watch.validation):
        with pytest.raises(SettingError, match="closed"):
            call([1])
    assert list(early) == [1, 2]  # and opens no run
    assert (watch.report is None) == (not opened)


class Numbered:
    """Iterated by its numbers, as a data set of torch's is."""

    def __getitem__(self, index):
        if index == 3:
            raise IndexError
        return index


def test_what_a_for_loop_takes_is_taken(watch):
    assert list(watch(Numbered())) == [0, 1, 2]


def test_an_iterator_is_asked_by_next_in_one_walk(watch):
    batches = watch(data(watch, 9, wait_ms=2))
    assert batches  # a generator is true
    for number in range(9):
        assert next(batches) == number
        watch.clock.advance_ms(5)
    assert next(batches, "end") == "end"
    assert watch.last[:3] == (pytest.approx(2), None, pytest.approx(5))
    assert watch.close().steps.batches == 9


def test_what_the_last_steps_took_stays_known_when_the_marks_were_handed_over(watch):
    known = []
    for _ in watch(data(watch, 20, wait_ms=300)):  # marks are handed over at every other step
        watch.clock.advance_ms(700)
        known.append(watch.last)
    assert all(each is not None for each in known[3:])
    assert watch.last.steps > 10


@pytest.mark.lenient
def test_a_run_that_cannot_be_opened_is_one_warning_and_the_loop_goes_on(watch, monkeypatch):
    def broken():
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(watch, "_open", broken)
    with pytest.warns(FeedwatchWarning, match="planted") as said:
        for _ in range(5):
            assert list(watch([1, 2, 3])) == [1, 2, 3]
        with watch.copying():
            pass
        assert list(watch.validation([4])) == [4]
    assert len(said) == 1
    assert watch.close() is None
