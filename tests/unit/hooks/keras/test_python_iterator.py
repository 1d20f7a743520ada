"""`next()` timed in Python, on a clock by hand."""

import pytest

pytest.importorskip("keras")
pytest.importorskip("torch")

from feedwatch.hooks.keras.python_iterator import SAMPLE_EVERY, PythonFetches
from feedwatch.measure.marks import ENTER, GOT, INPUT
from tests.fakes.clock import FakeClock

MS = 1_000_000


class Batch:
    shape = (16, 3)


@pytest.fixture
def clock():
    return FakeClock(0)


def batches(clock, count, error=None):
    for _ in range(count):
        clock.advance_ms(3)
        yield (Batch(), Batch())
    if error is not None:
        raise error


def test_a_fetch_is_two_marks_and_tells_its_samples(clock):
    log = []
    fetches = PythonFetches(log.append, clock.now_ns)
    assert len(list(fetches.wrap(batches(clock, 2)))) == 2
    assert log == [
        (0, ENTER, INPUT),
        (3 * MS, GOT, 16),
        (3 * MS, ENTER, INPUT),
        (6 * MS, GOT, 16),
        (6 * MS, ENTER, INPUT),
    ]
    assert fetches.mean_ms() == 3.0


def test_the_users_error_is_told_and_passes_as_it_is(clock):
    error, told = ValueError("the user's own"), []
    fetches = PythonFetches([].append, clock.now_ns)
    fetches.on_error = told.append
    with pytest.raises(ValueError, match="own") as raised:
        list(fetches.wrap(batches(clock, 1, error)))
    assert raised.value is error
    assert told == [error]


def test_the_first_batch_is_shown_once_and_a_look_that_fails_harms_nobody(clock, monkeypatch):
    monkeypatch.setenv("FEEDWATCH_STRICT", "")
    seen = []

    def show(batch):
        seen.append(batch)
        raise ZeroDivisionError

    fetches = PythonFetches([].append, clock.now_ns)
    fetches.on_first_batch = show
    with pytest.warns(UserWarning, match="the look at the first batch"):
        assert len(list(fetches.wrap(batches(clock, 3)))) == 3
    assert len(seen) == 1


def test_one_fetch_in_seven_is_looked_at_closer(clock):
    class Closer:
        before, after = 0, ()

        def before_fetch(self):
            self.before += 1

        def after_fetch(self, wait_ns):
            self.after = (*self.after, wait_ns)

    fetches = PythonFetches([].append, clock.now_ns)
    fetches.closer = Closer()
    list(fetches.wrap(batches(clock, 2 * SAMPLE_EVERY)))
    assert fetches.closer.after == (3 * MS, 3 * MS)


def test_an_iterator_that_outlives_its_run_appends_to_nothing(clock):
    log = []
    fetches = PythonFetches(log.append, clock.now_ns)
    iterator = fetches.wrap(batches(clock, 2))
    fetches.close()
    assert len(list(iterator)) == 2
    assert log == []


def test_attributes_are_the_iterators_own(clock):
    assert PythonFetches([].append, clock.now_ns).wrap(batches(clock, 1)).gi_frame is not None
