import pytest

from feedwatch.model.trial import Outcome
from feedwatch.trial.board import Board, TrialOver
from feedwatch.trial.schedule import Trial
from feedwatch.trial.search import ListSearch
from feedwatch.trial.variant import AS_IS, Refused, Variant
from tests.fakes.clock import FakeClock

OTHER = Variant("other", settings={"a": 1}, lanes=2, ahead=3)


class Source:
    def __init__(self, name, closed):
        self.name, self.closed, self.raises, self.skipped = name, closed, None, []

    def next(self):
        if self.raises is not None:
            raise self.raises
        return self.name

    def enter(self): ...
    def leave(self): ...
    def restart(self): ...

    def skip(self, most):
        self.skipped.append(most)

    def close(self):
        self.closed.append(self.name)
        raise OSError("a worker is gone already")


class Bench:
    def __init__(self, *, later=False):
        self.clock, self.closed, self.sources, self.behind_ms, self.rests = FakeClock(), [], {}, 0, 0
        self.trial = Trial(ListSearch([OTHER], lambda helped: helped[0]), 20)
        self.board = Board(self.trial, self.open, self.clock.now_ns, self.settle, rest=self.rest_now, later=later)

    def settle(self):
        """The device does what it was given."""
        self.clock.advance_ms(self.behind_ms)
        self.behind_ms = 0

    def rest_now(self):
        self.rests += 1

    def open(self, variant):
        return self.sources.setdefault(variant.name, Source(variant.name, self.closed))

    def until(self, name):
        for _ in range(10_000):
            self.clock.advance_ms(10)
            if self.board.next() == name:
                return
        raise AssertionError(name)

    def rest(self):
        with pytest.raises(TrialOver):
            self.until("nobody")
        return {row.name: row for row in self.trial.section(self.clock.now_ns()).rows}


def test_every_change_of_turns_waits_until_the_workers_of_the_last_one_rest():
    bench = Bench()
    bench.until(AS_IS.name)
    before = bench.rests
    bench.until("one cached batch")
    assert bench.rests == before + 1


def test_every_turn_begins_with_an_empty_queue():
    bench = Bench()
    bench.rest()
    assert bench.sources["other"].skipped == [6]
    as_is = bench.sources[AS_IS.name].skipped
    assert len(as_is) > 1
    assert set(as_is) == {0}  # without workers there is none


def test_what_a_device_still_has_to_do_is_counted_with_the_steps_that_asked_for_it():
    """The host is through a step in 1 ms, the device needs 10 ms; every 16th step the host waits for it."""
    bench = Bench()
    for step in range(100_000):
        try:
            bench.board.next()
        except TrialOver:
            break
        bench.clock.advance_ms(1)
        bench.behind_ms += 9
        if step % 16 == 15:
            bench.settle()
    for row in bench.trial.section(bench.clock.now_ns()).rows:
        assert row.step_ms == pytest.approx(10.0, rel=0.001), row


def test_a_variant_that_raises_in_its_turn_is_left_out_and_the_loop_gets_another_batch():
    bench = Bench()
    bench.until("other")
    bench.sources["other"].raises = ValueError("no space left")
    row = bench.rest()["other"]
    assert row.outcome is Outcome.FAILED
    assert row.note == "ValueError: no space left"
    assert "other" in bench.closed


def test_at_the_end_everything_is_closed_whatever_closing_raises():
    bench = Bench()
    bench.rest()
    assert {AS_IS.name, "one cached batch"} <= set(bench.closed)


def test_ctrl_c_is_nobodys_but_the_users():
    bench = Bench()
    bench.until("other")
    bench.sources["other"].raises = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        bench.until("nobody")


def test_the_end_of_a_trial_ends_a_script_with_success():
    assert issubclass(TrialOver, SystemExit)
    assert TrialOver(0).code == 0


def test_where_steps_fetch_for_themselves_they_tell_what_they_found():
    bench = Bench(later=True)
    bench.until("other")
    bench.board.failed(ValueError("bad record"))
    assert bench.rest()["other"].note == "ValueError: bad record"
    again = Bench(later=True)
    again.until("other")
    for _ in range(2):
        again.board.ended()
    assert again.rest()["other"].note == "it gave no batch"
    kept = Bench(later=True)
    kept.until("other")
    kept.board.ended()
    kept.board.stepped()
    kept.board.ended()
    assert kept.rest()["other"].outcome is Outcome.SAME


def test_an_error_of_the_run_as_it_is_passes():
    bench = Bench(later=True)
    bench.until(AS_IS.name)
    with pytest.raises(ValueError, match="theirs"):
        bench.board.failed(ValueError("theirs"))


def test_what_cannot_be_restarted_says_why():
    bench = Bench(later=True)
    bench.until("other")

    def refuse():
        raise Refused("read only once")

    bench.sources["other"].restart = refuse
    bench.board.ended()
    assert bench.rest()["other"].note == "read only once"
