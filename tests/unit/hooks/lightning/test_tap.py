"""Lightning's names, played through the tap under a fake clock: exact durations, and nothing for what says nothing."""

import lightning.pytorch as pl
import pytest
from lightning.pytorch.profilers import PassThroughProfiler, SimpleProfiler

from feedwatch.guard import Guard
from feedwatch.hooks.destination import Destination
from feedwatch.hooks.lightning.tap import MOST_NAMES, NOTHING, Names, Tap, callback_name
from feedwatch.hooks.run import WatchedRun
from feedwatch.hooks.torch.queue import SampledFetches
from feedwatch.measure.marks import ENTER, EPOCH_END, GOT, H2D, INPUT, LEAVE, TRAINED, VALIDATION
from feedwatch.measure.steps import StepReader
from feedwatch.model.report import Status
from feedwatch.settings import Settings
from tests.fakes.clock import FakeClock
from tests.fakes.values import run_facts

FETCH = "[_TrainingEpochLoop].train_dataloader_next"
COPY = "[LightningModule]Model.transfer_batch_to_device"
SLOW = "[Callback]Slow.on_train_batch_end"
OWN = "[Callback]Own.on_train_batch_end"


class Slow(pl.Callback):
    def on_train_batch_end(self, *_): ...


class Own(pl.Callback): ...


class Rig:
    def __init__(self, profiler=None):
        self.clock = FakeClock()
        self.reader = StepReader()
        facts = run_facts(framework="lightning", backend="torch")
        self.run = WatchedRun(facts, Settings(console=False), Destination(None, ()), self.reader, self.clock)
        self.profiler = profiler or PassThroughProfiler()
        self.names, self.fetches, own = Names(), SampledFetches(Guard("test")), Own()
        self.tap = Tap(self.run, self.names, [own, Slow()], own, fetches=self.fetches, meter=None)
        self.tap.install(self.profiler, self.run.undo)

    def act(self, name, ms=0.0):
        with self.profiler.profile(name):
            self.clock.advance_ms(ms)

    def fetch(self, ms):
        self.profiler.start(FETCH)
        self.clock.advance_ms(ms)
        self.profiler.stop(FETCH)

    def step(self, wait=2, copy=1, compute=5, after=3):
        self.fetch(wait)
        self.act(COPY, copy)
        self.act("run_training_batch", compute)
        self.run.mark(TRAINED, 4)
        self.clock.advance_ms(after)

    def marks(self):
        return [(what, detail) for _, what, detail in self.run.marks.rows]

    def records(self):
        self.run.mark(EPOCH_END)
        return list(self.reader.read(self.run.marks.take().marks))


@pytest.fixture
def rig():
    made = Rig()
    yield made
    made.run.close(Status.FINISHED)


def test_a_step_reaches_from_its_fetch_to_the_next_one(rig):
    rig.step()
    rig.step()
    found = rig.records()
    assert [record.wall_ns for record in found] == [11_000_000, 11_000_000]
    assert (found[0].input_wait_ns, found[0].h2d_ns, found[0].compute_ns) == (2_000_000, 1_000_000, 5_000_000)
    assert found[0].other_ns == 3_000_000
    assert [record.step for record in found] == [1, 2]
    assert found[0].samples == 4


def test_a_fetch_inside_the_step_is_input_not_compute(rig):
    for _ in range(2):
        with rig.profiler.profile("run_training_batch"):
            rig.fetch(3)
            rig.fetch(3)
            rig.clock.advance_ms(4)
        rig.run.mark(TRAINED, 4)
    first = rig.records()[0]
    assert (first.input_wait_ns, first.compute_ns, first.batches, first.samples) == (6_000_000, 4_000_000, 2, 8)


def test_nothing_is_marked_while_the_tap_is_quiet(rig):
    rig.step()
    before = rig.marks()
    rig.tap.quiet()
    rig.fetch(100)
    rig.act(SLOW, 10)
    rig.act("[Callback]New.on_validation_end", 10)
    rig.tap.listen()
    assert rig.marks() == before
    rig.act("[Callback]New.on_validation_end", 10)  # a name that was first seen meanwhile is heard now
    assert len(rig.marks()) == len(before) + 2


def test_validation_is_no_part_of_the_step(rig):
    rig.step()
    rig.run.mark(ENTER, VALIDATION)
    rig.clock.advance_ms(100)
    rig.run.mark(LEAVE, VALIDATION)
    rig.step()
    assert [record.wall_ns for record in rig.records()] == [11_000_000, 11_000_000]


def test_a_step_that_was_not_trained_is_partial(rig):
    rig.step()
    rig.fetch(1)
    assert len(rig.records()) == 1
    assert rig.reader.partial == 1


def test_callbacks_are_known_by_name_and_mean(rig):
    for _ in range(3):
        rig.step()
        rig.act(SLOW, 6)
    rig.records()
    steps = rig.reader
    found = rig.names.times(steps.habits())
    assert [(each.name, each.ms_per_step, each.every) for each in found] == [("Slow", 6.0, 1.0)]


def test_a_checkpoint_is_part_of_the_callback_that_writes_it(rig):
    for _ in range(3):
        rig.step()
        with rig.profiler.profile(SLOW):
            rig.act("save_checkpoint", 50)
            rig.clock.advance_ms(2)
    rig.records()
    found = rig.names.times(rig.reader.habits())
    assert [(each.name, each.ms_per_step) for each in found] == [("Slow", 52.0)]


def test_one_step_tells_nothing_about_a_habit():
    assert Names().times([]) == ()


@pytest.mark.parametrize(
    "name",
    [
        "[Strategy]SingleDeviceStrategy.batch_to_device",
        "[Callback]Slow.on_train_batch_start",  # the empty hook of the base class
        OWN,
        "[LightningModule]Model.optimizer_step",
    ],
)
def test_a_name_that_says_nothing_gets_the_shared_context(rig, name):
    assert rig.profiler.profile(name) is NOTHING
    rig.act(name, 1)
    assert rig.marks() == []


def test_the_shared_context_hides_no_exception():
    with pytest.raises(ZeroDivisionError), NOTHING:
        raise ZeroDivisionError
    with NOTHING, NOTHING:
        pass


def test_a_sampled_step_is_looked_at_more_closely_and_only_that_one(rig):
    rig.step()
    rig.act(OWN, 9)
    rig.tap.sample()
    rig.step()
    rig.act(OWN, 3)
    rig.tap.unsample()
    rig.step()
    rig.act(OWN, 9)

    assert rig.fetches._fetches == 1
    assert rig.tap.own_hook_ns == pytest.approx(3_000_000, rel=0.02)
    assert [mark for mark in rig.marks() if mark[0] == GOT] == [(GOT, None)] * 3


def test_a_profiler_of_the_users_hears_every_name():
    rig = Rig(SimpleProfiler())
    rig.step()
    rig.act("[LightningModule]Model.optimizer_step", 1)
    rig.tap.quiet()
    rig.act("[Strategy]SingleDeviceStrategy.validation_step", 1)
    rig.tap.listen()
    heard = rig.marks()
    rig.run.close(Status.FINISHED)

    assert set(rig.profiler.recorded_durations) == {
        FETCH,
        COPY,
        "run_training_batch",
        "[LightningModule]Model.optimizer_step",
        "[Strategy]SingleDeviceStrategy.validation_step",
    }
    assert (ENTER, INPUT) in heard


def test_a_users_error_passes_through_both():
    rig = Rig(SimpleProfiler())
    with pytest.raises(ZeroDivisionError), rig.profiler.profile(COPY):
        raise ZeroDivisionError
    assert rig.marks() == [(ENTER, H2D), (LEAVE, H2D)]
    assert rig.profiler.current_actions == {}
    rig.run.close(Status.FINISHED)


def test_the_profiler_is_given_back_as_it_was(rig):
    rig.step()
    rig.run.undo.all()
    assert not {"start", "stop", "profile"} & set(vars(rig.profiler))


def test_a_new_name_at_every_step_does_not_fill_the_memory(rig):
    for number in range(2 * MOST_NAMES):
        rig.act(f"my own action {number}")
    assert len(rig.tap) == MOST_NAMES


def test_a_callbacks_name_is_its_class():
    assert callback_name("[Callback]Timer.on_train_batch_end") == "Timer"
    assert callback_name("[Callback]main.<locals>.Slow.on_train_start") == "Slow"
    assert callback_name("[Callback]ModelCheckpoint{'monitor': 'a.b', 'mode': 'min'}.on_train_end") == "ModelCheckpoint"
