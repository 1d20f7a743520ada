"""A loop of one's own on a fake clock, without a framework."""

from feedwatch.hooks.destination import own_destination
from feedwatch.hooks.loop import LoopWatch
from feedwatch.hooks.run import WatchedRun
from feedwatch.hooks.walks import Looks
from feedwatch.measure.steps import Ends, StepReader
from feedwatch.model.facts import RunFacts
from feedwatch.settings import Settings
from tests.fakes.clock import FakeClock


class SeenLoaders(Looks):
    def __init__(self):
        self.seen = []

    def at_loader(self, loader):
        self.seen.append(loader)


class FakeLoopWatch(LoopWatch):
    def __init__(self, log_dir, clock=None, **more):
        super().__init__(log_dir, Settings(console=False), **more)
        self.clock, self.looks = clock or FakeClock(), SeenLoaders()

    def _open(self):
        facts = RunFacts(framework="none", version="1", backend="none", device="cpu")
        destination, reader = own_destination(self.log_dir), StepReader(ends=Ends.NEXT)
        return WatchedRun(facts, self._settings, destination, reader, self.clock), self.looks


def data(watch, count, wait_ms):
    for number in range(count):
        watch.clock.advance_ms(wait_ms)
        yield number
