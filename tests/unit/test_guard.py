import warnings

import pytest

from feedwatch.guard import MAX_FAILURES, FeedwatchWarning, Guard


def boom():
    raise ValueError("boom")


@pytest.mark.lenient
def test_a_failure_is_swallowed_and_said_once():
    guard = Guard("the probe")
    with pytest.warns(FeedwatchWarning, match="the probe failed") as seen:
        for _ in range(2):
            assert guard.run(boom) is None
    assert len(seen) == 1


@pytest.mark.lenient
def test_a_part_is_switched_off_after_three_failures():
    calls = []
    guard = Guard("the probe")

    def failing():
        calls.append(1)
        boom()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(10):
            guard.run(failing)
    assert len(calls) == MAX_FAILURES
    assert guard.off


@pytest.mark.lenient
def test_one_part_failing_leaves_the_others_alone():
    bad, good = Guard("a"), Guard("b")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(5):
            bad.run(boom)
    assert good.run(lambda: 7) == 7


@pytest.mark.lenient
@pytest.mark.parametrize("exit_with", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_ctrl_c_and_exit_are_the_users(exit_with):
    def leave():
        raise exit_with

    with pytest.raises(exit_with):
        Guard("x").run(leave)


@pytest.mark.lenient
def test_warnings_as_errors_do_not_reach_training():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Guard("x").run(boom) is None


def test_strict_re_raises_the_same_object():
    error = ValueError("mine")

    def fail():
        raise error

    with pytest.raises(ValueError, match="mine") as caught:
        Guard("x").run(fail)
    assert caught.value is error


@pytest.mark.lenient
def test_the_failure_text_reaches_the_report_notes():
    notes = []
    with pytest.warns(FeedwatchWarning):
        Guard("the sink", notes.append).run(boom)
    assert "the sink failed (ValueError: boom)" in notes[0]
