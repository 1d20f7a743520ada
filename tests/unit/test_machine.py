"""CPU use, as the rules see it: of the time in which training steps."""

import pytest

from feedwatch.machine import RECENT_SAMPLES, SAMPLE_SECONDS, Machine
from feedwatch.model.facts import HostFacts
from tests.fakes.clock import FakeClock
from tests.fakes.values import run_facts


class Samples:
    """In place of the probe: one CPU figure after the other."""

    def __init__(self, *used):
        self._left = list(used)

    def sample(self):
        return HostFacts(cpu_budget=4.0, cpu_used=self._left.pop(0), machine_cpu_share=0.5)


@pytest.fixture
def clock():
    return FakeClock()


def machine(clock, *used):
    made = Machine(run_facts(), lambda _: None, clock)
    made._host = Samples(*used)
    made.start()
    return made


def next_sample(made, clock, *, paused=False):
    clock.advance_ms(1000 * SAMPLE_SECONDS + 100)
    made.paused = paused
    return made.read()["host"]


def test_a_pause_between_epochs_does_not_dilute_the_use(clock):
    made = machine(clock, None, 3.9, 0.2, 3.7)
    assert next_sample(made, clock).cpu_used == pytest.approx(3.9)
    assert next_sample(made, clock, paused=True).cpu_used == pytest.approx(3.9)
    assert next_sample(made, clock).cpu_used == pytest.approx(3.8)


def test_where_every_sample_holds_a_pause_their_mean_is_what_is_known(clock):
    made = machine(clock, None, 3.0, 1.0)
    assert next_sample(made, clock, paused=True).cpu_used == pytest.approx(3.0)
    assert next_sample(made, clock, paused=True).cpu_used == pytest.approx(2.0)


def test_the_first_sample_holds_the_tracing_and_speaks_only_where_there_is_no_other(clock):
    made = machine(clock, None, 1.0, 3.0)
    clock.advance_ms(1000)
    assert made.read()["host"].cpu_used == pytest.approx(1.0)
    assert next_sample(made, clock).cpu_used == pytest.approx(3.0)


def test_use_follows_a_run_that_changes(clock):
    made = machine(clock, None, *[1.0] * RECENT_SAMPLES, *[3.0] * RECENT_SAMPLES)
    for _ in range(2 * RECENT_SAMPLES):
        latest = next_sample(made, clock)
    assert latest.cpu_used == pytest.approx(3.0)


def test_unknown_use_stays_unknown(clock):
    made = machine(clock, None, None)
    assert next_sample(made, clock).cpu_used is None
