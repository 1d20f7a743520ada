"""A loop on a fake clock: what each variant takes is known exactly."""

from contextlib import suppress
from itertools import pairwise

import pytest

from feedwatch.model.trial import Ended, Outcome, Role, Span
from feedwatch.trial.board import Board, TrialOver
from feedwatch.trial.schedule import Trial, block_seconds
from feedwatch.trial.search import ListSearch, WorkerSearch
from feedwatch.trial.variant import AS_IS, CEILING, Refused, Variant, shown
from tests.fakes.clock import FakeClock


def workers(count):
    settings = {"num_workers": count}
    return Variant(shown(settings), settings=settings, lanes=max(1, count), ahead=2 if count else 0)


class Source:
    def __init__(self, loop, variant):
        self.loop, self.variant, self.given = loop, variant, 0
        loop.opened.append(variant.name)

    def next(self):
        if self.loop.epoch is not None and self.variant is not CEILING and self.given == self.loop.epoch:
            raise StopIteration
        self.given += 1
        self.loop.clock.advance_ms(self.loop.wait_ms(self.variant))
        return self.variant.name

    def enter(self):
        self.loop.inside.append(self.variant.name)

    def leave(self):
        assert self.loop.inside.pop() == self.variant.name

    def skip(self, most):
        self.loop.skipped.append((self.variant.name, most))

    def restart(self):
        self.given = 0
        self.loop.restarts += 1
        self.loop.clock.advance_ms(self.loop.start_ms)

    def close(self):
        self.loop.closed.append(self.variant.name)


class Loop:
    """Every step computes for `compute_ms`; loading takes `load_ms` on one worker."""

    def __init__(self, compute_ms=10.0, load_ms=30.0, epoch=None, start_ms=0.0):
        self.clock = FakeClock()
        self.compute_ms, self.load_ms, self.epoch, self.start_ms = compute_ms, load_ms, epoch, start_ms
        self.opened, self.closed, self.restarts, self.seen = [], [], 0, []
        self.inside, self.skipped = [], []
        self.slower = 1.0  # the machine, from some moment on
        self.refused = {}

    def wait_ms(self, variant):
        if variant is CEILING:
            return 0.0
        count = variant.settings.get("num_workers", 0)
        return self.load_ms if count == 0 else max(0.0, self.load_ms / count - self.compute_ms)

    def open(self, variant):
        if variant.name in self.refused:
            raise self.refused[variant.name]
        return Source(self, variant)

    def run(self, trial, most=100_000):
        board = Board(trial, self.open, self.clock.now_ns)
        for _ in range(most):
            try:
                self.seen.append(board.next())
            except TrialOver:
                assert self.inside == []
                return trial.section(self.clock.now_ns())
            self.clock.advance_ms(self.compute_ms * self.slower)
        raise AssertionError("the trial never ended")


def row(section, name):
    return next(each for each in section.rows if each.name == name)


def test_the_smallest_setting_that_waits_for_nothing_is_picked():
    section = Loop(load_ms=30.0).run(Trial(WorkerSearch(0, 16, workers), 60))
    assert section.picked == "num_workers=3"
    found = row(section, "num_workers=3")
    assert found.outcome is Outcome.FASTER
    assert found.speedup.low < 4.0 < found.speedup.high
    assert found.wait_share == 0.0
    assert section.ended is Ended.DECIDED


def test_fewer_workers_than_today_is_an_answer():
    search = WorkerSearch(8, 16, workers)
    loop = Loop(compute_ms=40.0, load_ms=30.0)
    loop.wait_ms = lambda variant: 30.0 if variant.settings.get("num_workers") == 0 else 0.0
    section = loop.run(Trial(search, 60))
    assert section.picked == "num_workers=1"
    assert row(section, "num_workers=1").outcome is Outcome.SAME


def test_the_ceiling_is_what_one_cached_batch_takes():
    section = Loop(compute_ms=10.0, load_ms=10.0).run(Trial(WorkerSearch(0, 4, workers), 30))
    assert section.ceiling.low < 2.0 < section.ceiling.high
    assert row(section, CEILING.name).role is Role.CEILING


def test_the_run_as_it_is_comes_first_and_last_and_in_between():
    loop = Loop(load_ms=200.0)
    trial = Trial(WorkerSearch(0, 16, workers), 60)
    loop.run(trial)
    turns = [name for at, name in enumerate(loop.seen) if at == 0 or loop.seen[at - 1] != name]
    assert turns[0] == turns[-1] == AS_IS.name
    gaps = [at for at, name in enumerate(turns) if name == AS_IS.name]
    assert max(b - a for a, b in pairwise(gaps)) <= 4


def test_a_machine_that_becomes_slower_does_so_for_all():
    """Compared with its neighbours, not with the first block."""
    loop = Loop(compute_ms=10.0, load_ms=0.0)
    original = loop.open

    def open_and_slow(variant):
        return original(variant)

    loop.open = open_and_slow
    same = Variant("same", settings={"a": 1})
    trial = Trial(ListSearch([same], lambda both: both[0]), 60)
    trial.on_block = lambda: setattr(loop, "slower", loop.slower * 1.02)
    section = loop.run(trial)
    assert section.drift > 1.1
    assert section.picked is None
    assert row(section, "same").speedup.low < 1.0 < row(section, "same").speedup.high


def test_time_is_up():
    loop = Loop(compute_ms=400.0, load_ms=900.0)
    section = loop.run(Trial(WorkerSearch(0, 16, workers), 20))
    assert section.ended is Ended.TIME_IS_UP
    assert section.seconds < 24


def test_a_variant_that_raises_is_left_out_with_the_users_own_words():
    loop = Loop()
    loop.refused = {"num_workers=4": ValueError("cannot pickle lock"), "num_workers=1": Refused("no room")}
    section = loop.run(Trial(WorkerSearch(0, 4, workers), 60))
    assert row(section, "num_workers=1").outcome is Outcome.REFUSED
    assert row(section, "num_workers=1").note == "no room"
    assert section.picked != "num_workers=4"


def test_an_error_of_the_run_as_it_is_stays_the_users():
    loop = Loop()
    loop.refused = {AS_IS.name: ValueError("bad file")}
    with pytest.raises(ValueError, match="bad file"):
        loop.run(Trial(WorkerSearch(0, 4, workers), 60))


def test_a_long_epoch_that_ends_inside_a_block_costs_only_its_warm_up():
    loop = Loop(epoch=60, start_ms=500.0)
    section = loop.run(Trial(WorkerSearch(0, 4, workers), 60, epoch_seconds=3.1))
    assert loop.restarts > 0
    assert row(section, AS_IS.name).step_ms == pytest.approx(40.0)


def test_short_epochs_are_counted_whole_with_their_starts():
    loop = Loop(epoch=20, start_ms=200.0)
    section = loop.run(Trial(WorkerSearch(0, 4, workers), 60, epoch_seconds=1.0))
    assert row(section, AS_IS.name).step_ms == pytest.approx(40.0 + 200.0 / 20, rel=0.02)
    # One cached batch has no epochs.
    assert row(section, CEILING.name).step_ms == pytest.approx(10.0)


def test_data_that_gives_nothing_ends_the_trial_and_not_the_program():
    loop = Loop(epoch=0)
    section = loop.run(Trial(WorkerSearch(0, 4, workers), 60))
    assert section.ended is Ended.TRAINING_ENDED


def test_what_was_predicted_stands_beside_what_was_measured():
    two = Variant("num_workers=2", settings={"num_workers": 2}, codes=("FW101",), advised=True, lanes=2, ahead=2)
    trial = Trial(ListSearch([two], lambda both: both[0]), 30, predicted={"FW101": Span(1.1, 1.3)})
    found = row(Loop(compute_ms=10, load_ms=20).run(trial), "num_workers=2")
    assert found.predicted == Span(1.1, 1.3)
    assert found.contradicts
    assert found.speedup.low > 2.5


def test_an_interrupted_trial_keeps_what_is_known():
    loop, trial = Loop(), Trial(WorkerSearch(0, 4, workers), 60)
    board = Board(trial, loop.open, loop.clock.now_ns)
    for _ in range(400):
        board.next()
        loop.clock.advance_ms(10)
    trial.finish(Ended.INTERRUPTED)
    section = trial.section(loop.clock.now_ns())
    assert section.ended is Ended.INTERRUPTED
    assert row(section, AS_IS.name).blocks >= 1


def test_other_work_between_two_steps_is_not_counted():
    loop, trial = Loop(load_ms=0.0), Trial(ListSearch([], lambda both: both[0]), 10)
    board = Board(trial, loop.open, loop.clock.now_ns)

    def step():
        board.next()
        loop.clock.advance_ms(10)
        if len(loop.seen) % 50 == 0:
            loop.clock.advance_ms(700)  # validation
            board.pause()
        loop.seen.append(0)

    with suppress(TrialOver):
        while True:
            step()
    assert row(trial.section(loop.clock.now_ns()), AS_IS.name).step_ms == pytest.approx(10.0)


def test_a_block_is_a_fortieth_of_the_time_within_limits():
    assert block_seconds(60) == 1.5
    assert block_seconds(4) == 0.5
    assert block_seconds(1000) == 3.0


def test_a_glimpse_of_a_variant_is_no_answer():
    """The time is up 200 ms into a block of half a second: what was seen of it is not called measured."""
    trial = Trial(ListSearch([workers(4)], lambda _: workers(4)), seconds=12)
    now_ns, seen = 0, 0
    while (variant := trial.turn(now_ns)) is not None:
        if variant.role is Role.VARIANT:
            seen += 1
            if seen == 5 + 2 * 20:
                break
        now_ns += 10_000_000 if variant.role is Role.VARIANT else 40_000_000
    trial.finish(Ended.TRAINING_ENDED)
    section = trial.section(now_ns)
    assert section.picked is None
    assert row(section, workers(4).name).outcome is Outcome.UNDECIDED
    assert "before a whole block" in row(section, workers(4).name).note


class Queued(Source):
    """Workers fill a queue of 16 also while others have their turn; they need 5 % longer for a batch than a step does."""

    MADE_MS, MOST = 10.5, 16

    def __init__(self, loop, variant):
        super().__init__(loop, variant)
        self.ready, self.seen_ns = 0.0, loop.clock.now_ns()

    def look(self):
        now_ns = self.loop.clock.now_ns()
        self.ready = min(self.MOST, self.ready + (now_ns - self.seen_ns) / 1e6 / self.MADE_MS)
        self.seen_ns = now_ns

    def next(self):
        self.look()
        self.loop.clock.advance_ms(max(0.0, 1 - self.ready) * self.MADE_MS)
        self.look()
        self.ready -= 1
        return self.variant.name

    def skip(self, most):
        self.look()
        self.ready -= min(most, int(self.ready))


def test_a_queue_that_ran_full_meanwhile_does_not_make_a_slow_variant_look_fast():
    loop = Loop(compute_ms=10.0, load_ms=20.0)
    plain = loop.open
    loop.open = lambda variant: Queued(loop, variant) if "num_workers" in variant.settings else plain(variant)
    section = loop.run(Trial(ListSearch([workers(8)], lambda helped: helped[0]), 60))
    found = row(section, "num_workers=8")
    assert found.blocks > 1
    assert found.step_ms == pytest.approx(Queued.MADE_MS, rel=0.005)
