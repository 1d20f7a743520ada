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
