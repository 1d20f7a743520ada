"""Callbacks of the user's, timed by marks between them."""

from types import SimpleNamespace

import pytest

keras = pytest.importorskip("keras")

from feedwatch.hooks.keras import callbacks  # noqa: E402
from feedwatch.measure.marks import BEGIN, END, EPOCH_END, Fetch  # noqa: E402
from feedwatch.measure.steps import StepReader  # noqa: E402
from tests.fakes.clock import FakeClock  # noqa: E402


class Slow(keras.callbacks.Callback):
    def __init__(self, clock, ms):
        super().__init__()
        self.clock, self.ms = clock, ms

    def on_train_batch_end(self, batch, logs=None):
        self.clock.advance_ms(self.ms)


class SlowToo(Slow):
    def on_train_batch_begin(self, batch, logs=None):
        self.clock.advance_ms(1)


class AtEpochEnd(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        return


def test_each_callback_that_works_per_batch_has_its_time_and_compute_has_none_of_it():
    clock, log = FakeClock(), []
    run = SimpleNamespace(append=log.append, now_ns=clock.now_ns)
    us, first, second = object(), Slow(clock, 2), SlowToo(clock, 5)
    members, names = callbacks.with_marks(us, [first, AtEpochEnd(), us, second], run)
    assert members[0] is us
    assert names == ["Slow", "SlowToo"]
    assert members[1] is first

    def mark(what, batch):
        log.append((clock.now_ns(), what, batch))

    rows = []
    for batch in range(4):
        mark(BEGIN, batch)
        for member in members[1:]:
            member.on_train_batch_begin(batch)
        asked_ns = clock.now_ns()
        clock.advance_ms(10)
        rows.append(Fetch(asked_ns, asked_ns + 4_000_000))
        mark(END, batch)
        for member in members[1:]:
            member.on_train_batch_end(batch)
    mark(EPOCH_END, None)
    reader = StepReader(stamped=True)
    records = list(reader.read(log, rows))
    assert {record.compute_ns for record in records} == {6_000_000}
    times = {each.name: each.ms_per_step for each in callbacks.callback_times(names, reader)}
    assert times == {"Slow": pytest.approx(2.0), "SlowToo": pytest.approx(6.0)}


def test_before_the_second_step_nothing_is_known():
    assert callbacks.callback_times(["Slow"], StepReader()) == ()
