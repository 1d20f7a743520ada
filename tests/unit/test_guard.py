import warnings

import pytest

from feedwatch.guard import MAX_FAILURES, MAX_TEXT, FeedwatchWarning, Guard, Retry, tame
from tests.fakes.clock import FakeClock


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


class SilentError(Exception):
    def __str__(self):
        raise RuntimeError("no text")


@pytest.mark.lenient
def test_an_error_that_cannot_say_its_text_does_not_leak():
    def fail():
        raise SilentError

    with pytest.warns(FeedwatchWarning, match="SilentError: its text cannot be read"):
        assert Guard("x").run(fail) is None


@pytest.mark.lenient
def test_a_text_of_10_mb_becomes_one_short_line():
    notes = []

    def fail():
        raise ValueError("line\n" * 2_000_000)

    with pytest.warns(FeedwatchWarning):
        Guard("x", notes.append).run(fail)
    assert len(notes[0]) < 2 * MAX_TEXT
    assert "\n" not in notes[0]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "[Errno 13] Permission denied: '/home/alice/my project/.secret/cgroup'",
            "[Errno 13] Permission denied: 'cgroup'",
        ),
        ("cannot open /home/alice/b.py:12 (see /usr/lib/x.so)", "cannot open b.py:12 (see x.so)"),
        ("in file:///home/alice/x", "in x"),
        (r"C:\Users\bob\f.txt is gone", "f.txt is gone"),
        ("failed at:/home/alice/y", "failed at:y"),
        ("~/alice/y", "y"),
        ("x=/data/set/1.png,/data/set/2.png", "x=1.png,2.png"),
        ("see https://example.org/en/page.html", "see https://example.org/en/page.html"),
        ("3 samples/s in a/b/c and ./d/e", "3 samples/s in a/b/c and ./d/e"),
    ],
)
def test_of_an_absolute_path_only_the_last_part_is_kept(text, kept):
    assert tame(text) == kept


# -- outputs: tried again ---------------------------------------------------------------------------


@pytest.mark.lenient
@pytest.mark.filterwarnings("ignore")
def test_what_failed_is_tried_again_after_a_pause_that_doubles():
    clock, tried_s = FakeClock(0), []
    retry = Retry("writing", clock.now_ns)

    def fail():
        tried_s.append(clock.now_ns() / 1e9)
        boom()

    for _ in range(2000):
        assert not retry.attempt(fail)
        clock.advance_ms(100)
    assert tried_s[:5] == [0, 1, 3, 7, 15]
    assert tried_s[-1] - tried_s[-2] == 30
    assert retry.because == "ValueError: boom"


@pytest.mark.lenient
@pytest.mark.filterwarnings("ignore")
def test_after_a_success_the_pause_is_short_again():
    clock = FakeClock()
    retry = Retry("writing", clock.now_ns)
    for _ in range(5):
        retry.attempt(boom)
        clock.advance_ms(60_000)
    assert retry.attempt(list)
    assert not retry.attempt(boom)
    clock.advance_ms(1000)
    assert retry.attempt(list)


@pytest.mark.lenient
@pytest.mark.filterwarnings("ignore")
def test_the_last_attempt_waits_for_no_pause():
    retry = Retry("writing", FakeClock().now_ns)
    retry.attempt(boom)
    assert not retry.attempt(list)
    retry.at_once()
    assert retry.attempt(list)
