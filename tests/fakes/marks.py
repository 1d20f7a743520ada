"""Marks as a hook would take them, under a clock that stands still until it is told to move."""

from feedwatch.measure.marks import (
    BEGIN,
    COMPUTE,
    END,
    ENTER,
    EPOCH,
    EPOCH_END,
    GOT,
    H2D,
    INPUT,
    LEAVE,
    TRAINED,
    Log,
)
from tests.fakes.clock import FakeClock

MS = 1_000_000


class Marker:
    """Writes a log by hand: `now` is the clock, `log` what was written since the last `take`."""

    def __init__(self, clock=None):
        self.clock = clock or FakeClock()
        self.log = []

    def mark(self, what, detail=None):
        self.log.append((self.clock.now_ns(), what, detail))

    def advance(self, ms):
        self.clock.advance_ms(ms)

    def spend(self, category, ms):
        self.mark(ENTER, category)
        self.advance(ms)
        self.mark(LEAVE, category)

    def take(self):
        log, self.log = self.log, []
        return log

    def take_log(self):
        return Log(self.take(), self.clock.wall_s(), self.clock.now_ns())

    def epoch(self, number=0, steps=None):
        self.mark(EPOCH, (number, steps))

    def epoch_end(self):
        self.mark(EPOCH_END)

    def lightning_step(self, wait=2.0, copy=1.0, compute=5.0, after=3.0, samples=4):
        """A fetch, a copy, the step, its end hook, and what the loop does until the next fetch."""
        self.spend(INPUT, wait)
        if copy is not None:
            self.spend(H2D, copy)
        self.spend(COMPUTE, compute)
        self.mark(TRAINED, samples)
        self.advance(after)

    def loop_step(self, wait=2.0, compute=5.0, batch=0, samples=4):
        """A fetch in the header of a loop; the step lasts until the next one."""
        self.mark(ENTER, INPUT)
        self.advance(wait)
        self.mark(GOT, samples)
        self.mark(BEGIN, batch)
        self.advance(compute)

    def keras_call(self, batch=0, last=None, inside=9.0, after=1.0):
        """A call of the train function on TensorFlow: a begin hook, an end hook."""
        self.mark(BEGIN, batch)
        self.advance(inside)
        self.mark(END, batch if last is None else last)
        self.advance(after)
