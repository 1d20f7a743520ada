"""Time in Python's garbage collector, as the collector itself tells it."""

import gc

import pytest

from feedwatch.measure.clock import SYSTEM_CLOCK
from feedwatch.probe.garbage import GarbageProbe
from tests.fakes.clock import FakeClock


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def probe(clock):
    made = GarbageProbe(clock)
    gc.disable()  # only the rounds that a test asks for
    made.start()
    yield made
    made.stop()
    gc.enable()


def a_round(clock, ms):
    """Whoever stands behind us in the list takes time, as the collector does."""

    def takes_long(phase, _info):
        if phase == "start":
            clock.advance_ms(ms)

    gc.callbacks.append(takes_long)
    try:
        gc.collect()
    finally:
        gc.callbacks.remove(takes_long)


def test_the_share_is_of_the_time_since_it_was_last_asked_for(probe, clock):
    a_round(clock, 30)
    clock.advance_ms(70)
    assert probe.share() == pytest.approx(0.3)
    clock.advance_ms(100)
    assert probe.share() == 0.0


def test_nothing_is_known_before_the_start_or_without_any_time(clock):
    assert GarbageProbe(clock).share() is None
    probe = GarbageProbe(clock)
    probe.start()
    try:
        assert probe.share() is None
    finally:
        probe.stop()


def test_after_the_end_the_collector_calls_nobody_of_ours(clock):
    before = list(gc.callbacks)
    probe = GarbageProbe(clock)
    probe.start()
    probe.stop()
    probe.stop()
    assert gc.callbacks == before


def test_a_round_that_began_before_us_is_not_counted(clock):
    probe = GarbageProbe(clock)
    probe.start()
    try:
        probe._round("stop", {})
        clock.advance_ms(10)
        assert probe.share() == 0.0
    finally:
        probe.stop()


def test_a_process_that_collects_all_the_time_is_seen_on_the_real_clock():
    probe = GarbageProbe(SYSTEM_CLOCK)
    circles = [[] for _ in range(100_000)]
    probe.start()
    try:
        for _ in range(5):
            gc.collect()
        assert 0.5 < probe.share() <= 1.0
    finally:
        probe.stop()
    assert len(circles) == 100_000
