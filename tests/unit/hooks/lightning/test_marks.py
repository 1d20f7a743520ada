"""Marks under a fake clock: exact durations, and what happens when marks are missing."""

from contextlib import suppress

from feedwatch.hooks.lightning.bystanders import times
from feedwatch.hooks.lightning.categories import COMPUTE, H2D, INPUT, LOADER_START, VALIDATION
from feedwatch.hooks.lightning.steps import StepMarks
from feedwatch.hooks.lightning.tap import callback_name
from feedwatch.hooks.undo import Undo, wrap
from feedwatch.measure.recorder import StepRecorder
from tests.fakes.clock import FakeClock


def make():
    clock, slices = FakeClock(), []
    recorder = StepRecorder(clock, slices.append, 3600.0, 0)
    marks = StepMarks(recorder, clock.now_ns)
    marks.seen |= {INPUT, H2D, COMPUTE}
    return clock, recorder, marks, slices


def step(clock, marks, wait=2, copy=1, compute=5, after=3):
    marks.fetch_begin()
    clock.advance_ms(wait)
    marks.fetch_end()
    marks.copy_begin()
    clock.advance_ms(copy)
    marks.copy_end()
    marks.compute_begin()
    clock.advance_ms(compute)
    marks.compute_end()
    marks.trained(4)
    clock.advance_ms(after)


def records(recorder, slices):
    recorder.hand_over()
    return [record for piece in slices for record in piece.records]


def test_a_step_reaches_from_its_fetch_to_the_next_one():
    clock, recorder, marks, slices = make()
    marks.epoch_begin(0, 0)
    step(clock, marks)
    step(clock, marks)
    marks.epoch_end()
    found = records(recorder, slices)
    assert [record.wall_ns for record in found] == [11_000_000, 11_000_000]
    assert (found[0].input_wait_ns, found[0].h2d_ns, found[0].compute_ns) == (2_000_000, 1_000_000, 5_000_000)
    assert found[0].other_ns == 3_000_000
    assert [record.step for record in found] == [1, 2]
    assert found[0].samples == 4


def test_a_fetch_inside_the_step_is_input_not_compute():
    clock, recorder, marks, slices = make()
    for _ in range(2):
        marks.compute_begin()
        for _ in range(2):
            marks.fetch_begin()
            clock.advance_ms(3)
            marks.fetch_end()
        clock.advance_ms(4)
        marks.compute_end()
        marks.trained(4)
    marks.epoch_end()
    first = records(recorder, slices)[0]
    assert (first.input_wait_ns, first.compute_ns, first.batches, first.samples) == (6_000_000, 4_000_000, 2, 8)


def test_validation_is_no_part_of_the_step_and_nothing_inside_it_counts():
    clock, recorder, marks, slices = make()
    step(clock, marks)
    marks.opaque_begin(VALIDATION)
    marks.fetch_begin()
    clock.advance_ms(100)
    marks.fetch_end()
    marks.opaque_end(VALIDATION)
    step(clock, marks)
    marks.epoch_end()
    assert [record.wall_ns for record in records(recorder, slices)] == [11_000_000, 11_000_000]


def test_a_step_that_was_not_trained_is_partial():
    clock, recorder, marks, slices = make()
    step(clock, marks)
    marks.fetch_begin()
    clock.advance_ms(1)
    marks.fetch_end()
    marks.epoch_end()
    assert len(records(recorder, slices)) == 1
    assert marks.partial == 1


def test_the_gap_between_epochs_holds_the_loaders_start():
    clock, recorder, marks, slices = make()
    clock.advance_ms(500)  # start-up is no gap
    step(clock, marks)
    marks.epoch_end()
    clock.advance_ms(10)
    marks.opaque_begin(LOADER_START)
    clock.advance_ms(30)
    marks.opaque_end(LOADER_START)
    marks.opaque_begin(VALIDATION)
    clock.advance_ms(50)
    marks.opaque_end(VALIDATION)
    step(clock, marks)
    marks.epoch_end()
    recorder.hand_over()
    (gap,) = [gap for piece in slices for gap in piece.gaps]
    assert (gap.wall_ns, gap.loader_start_ns, gap.validation_ns) == (40_000_000, 30_000_000, 50_000_000)


def test_callbacks_are_known_by_name_and_mean():
    clock, _, marks, _ = make()
    category = marks.ledger.category("callback Slow")
    for _ in range(3):
        step(clock, marks)
        marks.span_begin(category)
        clock.advance_ms(6)
        marks.span_end(category)
    marks.epoch_end()
    assert [(each.name, each.ms_per_step) for each in times(marks)] == [("Slow", 6.0)]


def test_a_callbacks_name_is_its_class():
    assert callback_name("[Callback]Timer.on_train_batch_end") == "Timer"
    assert callback_name("[Callback]main.<locals>.Slow.on_train_start") == "Slow"
    assert callback_name("[Callback]ModelCheckpoint{'monitor': 'a.b', 'mode': 'min'}.on_train_end") == "ModelCheckpoint"


class Owner:
    def method(self):
        return "theirs"


def test_everything_set_is_taken_back():
    owner, undo, seen = Owner(), Undo(), []
    owner.value = 1
    undo.set(owner, "value", 2)
    wrap(undo, owner, "method", lambda: seen.append("in"), lambda: seen.append("out"))
    assert owner.method() == "theirs"
    undo.all()
    assert vars(owner) == {"value": 1}
    assert seen == ["in", "out"]


def test_what_somebody_wrapped_around_ours_is_left_alone():
    owner, undo = Owner(), Undo()
    wrap(undo, owner, "method", lambda: None, lambda: None)
    theirs = owner.method = lambda: "wrapped"
    undo.all()
    assert owner.method is theirs


def test_one_thing_that_cannot_be_taken_back_does_not_keep_the_others():
    owner, undo = Owner(), Undo()
    undo.set(owner, "value", 2)

    def broken():
        raise ZeroDivisionError

    undo.later(lambda: vars(owner).update(last=True))
    undo.later(broken)
    with suppress(ZeroDivisionError):
        undo.all()
    assert vars(owner) == {"last": True}
